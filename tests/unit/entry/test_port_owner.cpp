#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "entry/port_owner.h"

namespace assay::entry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "11 1 0000000000000000 100 0 0 10 0\n"
    "   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "12 1 0000000000000000 100 0 0 10 0\n"
    "   2: 0501A8C0:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "13 1 0000000000000000 100 0 0 10 0\n"
    "   3: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 "
    "14 1 0000000000000000 100 0 0 10 0\n"
    "   4: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "15 1 0000000000000000 100 0 0 10 0\n";

TEST(ListeningInodes, AreThoseThatALoopbackConnectionReaches) {
  EXPECT_THAT(listening_inodes(kTable, 8080), ElementsAre(11, 12));
  EXPECT_THAT(listening_inodes(kTable, 80), IsEmpty());
}

TEST(ListeningInodes, OfIpv6CountToo) {
  const std::string table =
      "   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000     0        0 21 1 0000000000000000 100 0 0 10 0\n"
      "   1: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000     0        0 22 1 0000000000000000 100 0 0 10 0\n";
  EXPECT_THAT(listening_inodes(table, 8080), ElementsAre(21, 22));
}

TEST(ListeningInodes, OfATableThatIsCutAreThoseOfItsWholeLines) {
  EXPECT_THAT(listening_inodes(kTable.substr(0, kTable.find("\n   1:") + 80), 8080),
              ElementsAre(11));
  EXPECT_THAT(listening_inodes("", 8080), IsEmpty());
}

}  // namespace
}  // namespace assay::entry
