#include <gmock/gmock.h>

#include "launch/cloud/start_clock.h"

namespace assay::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(StartLimit, GrowsWithTheFilesAndTheirBytes) {
  EXPECT_EQ(start_limit(10s, 0, 0), 10s);
  EXPECT_EQ(start_limit(10s, 200, 0), 10s + 50s);
  EXPECT_EQ(start_limit(10s, 0, 1 << 20), 10s + 4s);
  EXPECT_EQ(start_limit(30min, 1000, 1 << 30), 30min + 250s + 4096s);
}

TEST(StartClocks, GetTheTimeOfTheFilesThatAreAdded) {
  StartClock clock(7, 10s, "cluster.http.start");
  EXPECT_EQ(Nanoseconds(clock.end_ns()), 10s + 7ns);
  clock.add(2, 256 << 10);
  EXPECT_EQ(Nanoseconds(clock.end_ns()), 11s + 500ms + 7ns);
}

TEST(StartClocks, NameWhatWasWaitedForHowLongAndWhatToDo) {
  StartClock clock(0, 10s, "cluster.http.start");
  const OutOfTime silence("asking", Error(ErrorKind::environment, "GET /x was cancelled", "host"));
  const Error bare = clock.over(silence);
  EXPECT_EQ(bare.message(),
            "asking did not work within 10.00 s (cluster.http.start): GET /x was cancelled");
  EXPECT_EQ(bare.where(), "host");
  EXPECT_EQ(bare.kind(), ErrorKind::environment);
  clock.add(1, 0);
  const Error with_files = clock.over(silence);
  EXPECT_THAT(with_files.message(), AllOf(HasSubstr("within 10.2"), HasSubstr("1 file of 0 B")));
  EXPECT_THAT(with_files.advice(), AllOf(HasSubstr("raise cluster.http.start"),
                                         HasSubstr("--resume"), HasSubstr(".assayignore")));
}

}  // namespace
}  // namespace assay::launch
