#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/text.h"
#include "launch/agents/fleet.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// An agent on this machine, as if it were on another one; what it is told goes into a file, too.
class OverheardLauncher : public Launcher {
 public:
  explicit OverheardLauncher(std::filesystem::path file)
      : Launcher(far_away()), file_(std::move(file)) {}

 private:
  static plan::Cluster far_away() {
    plan::Cluster cluster;
    cluster.use_launcher(plan::SshOptions{});
    return cluster;
  }
  std::vector<std::string> do_hosts(const plan::Plan& /*plan*/) const override { return {"far"}; }
  std::vector<ChannelCommand> do_render(const std::vector<std::string>& /*hosts*/) const override {
    const std::string script = "tee " + shell_quote(file_.string()) + " | " +
                               shell_quote(ASSAY_BIN_DIR "/assay-agent") + " --node 0";
    return {{{"/bin/sh", "-c", script}, {0}, "far", {}}};
  }
  std::vector<std::string> do_agent_command(const std::string& /*host*/,
                                            const agent::Hello& /*hello*/,
                                            const std::vector<std::string>& args) const override {
    return args;
  }

  std::filesystem::path file_;
};

// A link that is cut in the first seconds must not leave the agent alone for longer than later.
TEST(Fleet, PingsAnAgentAsSoonAsItAnswers) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path told = folder.path() / "told";
  asio::io_context loop(1);
  const OverheardLauncher launcher(told);
  Fleet fleet(loop, launcher, {"far"});
  bool there = false;
  asio::co_spawn(loop, fleet.connect(), [&](const std::exception_ptr& error) { there = !error; });
  while (!there && loop.run_one_for(10s) > 0) {
  }
  ASSERT_TRUE(there);
  loop.run_for(1s);
  EXPECT_THAT(read_file(told), HasSubstr("\"ping\""));
  asio::co_spawn(loop, fleet.disconnect(), [&](const std::exception_ptr&) { loop.stop(); });
  loop.run_for(20s);
}

}  // namespace
}  // namespace assay::launch
