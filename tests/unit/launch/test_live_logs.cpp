#include <gtest/gtest.h>

#include "core/files.h"
#include "launch/agents/live_logs.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

namespace fs = std::filesystem;

class LiveLogsTest : public ::testing::Test {
 protected:
  static agent::Output output(const std::string& data, const std::string& file = "rank3.out.log") {
    return {"r", file, data, 0};
  }
  [[nodiscard]] fs::path folder() const { return folder_.path() / "live-logs/a/round1"; }
  [[nodiscard]] fs::path log() const { return folder() / "n2_noderank1/rank3.out.log"; }

  testing::TemporaryFolder folder_;
};

TEST_F(LiveLogsTest, GrowWithWhatAgentsSendAndGoWithTheRound) {
  {
    LiveLogs logs(folder(), {"n1", "n2"});
    logs.write(1, output("one\n"));
    logs.write(1, output("two\n"));
    logs.write(1, output("a,b\n", "telemetry.csv"));
    EXPECT_EQ(read_file(log()), "one\ntwo\n");
    EXPECT_TRUE(fs::exists(folder() / "n2_noderank1/telemetry.csv"));
  }
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(LiveLogsTest, SayWhatIsMissing) {
  LiveLogs logs(folder(), {"n1", "n2"});
  agent::Output piece = output("last\n");
  piece.skipped_bytes = 12345;
  logs.write(1, piece);
  EXPECT_EQ(read_file(log()),
            "[assay: 12345 bytes are not shown here; the whole log comes at the end of the round]\n"
            "last\n");
}

TEST_F(LiveLogsTest, TakeNoNameThatIsNotOneOfANodesFiles) {
  LiveLogs logs(folder(), {"n1"});
  for (const char* name : {"../../../evil", "/tmp/evil", "evil", "", "..", "rank0.out.log/../x"})
    logs.write(0, output("x", name));
  logs.write(7, output("x"));
  logs.write(-1, output("x"));
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(LiveLogsTest, AreBounded) {
  LiveLogs logs(folder(), {"n1", "n2"});
  const std::string line = std::string(1023, 'x') + "\n";
  for (int i = 0; i < 20'000; ++i) logs.write(1, output(line));
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder()))
    if (entry.is_regular_file()) bytes += entry.file_size();
  EXPECT_LE(bytes, 2 * (LiveLogs::kMostBytes + line.size()));
  EXPECT_GE(bytes, LiveLogs::kMostBytes);
}

TEST_F(LiveLogsTest, ThatCannotBeWrittenDisturbNothing) {
  folder_.write("live-logs", "a file in the way");
  LiveLogs logs(folder(), {"n1", "n2"});
  logs.write(1, output("one\n"));
  EXPECT_FALSE(fs::exists(log()));
}

}  // namespace
}  // namespace assay::launch
