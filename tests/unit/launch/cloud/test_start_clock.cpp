#include <gmock/gmock.h>

#include "core/files.h"
#include "launch/cloud/start_clock.h"
#include "temporary_folder.h"

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
  const testing::TemporaryFolder folder;
  write_file_atomic(folder.path() / "a", std::string(256 << 10, 'a'), false);
  StartClock clock(10s, "cluster.http.start");
  EXPECT_LE(clock.left(), 10s);
  const std::int64_t before = clock.end_ns();
  clock.add({{"a", folder.path() / "a"}, {"gone", folder.path() / "gone"}});
  EXPECT_EQ(Nanoseconds(clock.end_ns() - before), 1s + 500ms);
}

TEST(StartClocks, NameWhatWasWaitedForHowLongAndWhatToDo) {
  StartClock clock(10s, "cluster.http.start");
  const OutOfTime silence("asking", Error(ErrorKind::environment, "GET /x was cancelled", "host"));
  const Error bare = clock.over("asking", silence);
  EXPECT_EQ(bare.message(),
            "asking did not work within 10.00 s (cluster.http.start): GET /x was cancelled");
  EXPECT_EQ(bare.where(), "host");
  EXPECT_EQ(bare.kind(), ErrorKind::environment);
  clock.add({{"gone", "/no/such/file"}});
  const Error with_files = clock.over("uploading", silence);
  EXPECT_THAT(with_files.message(), AllOf(HasSubstr("within 10.2"), HasSubstr("1 file of 0 B")));
  EXPECT_THAT(with_files.advice(), AllOf(HasSubstr("raise cluster.http.start"),
                                         HasSubstr("--resume"), HasSubstr(".assayignore")));
}

}  // namespace
}  // namespace assay::launch
