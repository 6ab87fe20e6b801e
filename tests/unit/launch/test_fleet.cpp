#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "core/error.h"
#include "core/files.h"
#include "core/process_name.h"
#include "core/text.h"
#include "eventually.h"
#include "launch/agents/fleet.h"
#include "send_signal.h"
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
  /// What its output goes through.
  std::string filter = "cat";
  /// What runs before the agent, and the programs that it asks for.
  std::string first = ":";
  std::filesystem::path bundle{};
  Nanoseconds limit = 5s;

 private:
  static plan::Cluster far_away() {
    plan::Cluster cluster;
    cluster.use_launcher(plan::SshOptions{});
    return cluster;
  }
  std::vector<std::string> do_hosts(const plan::Plan& /*plan*/) const override { return {"far"}; }
  std::vector<ChannelCommand> do_render(const std::vector<std::string>& /*hosts*/) const override {
    const std::string script = "tee " + shell_quote(file_.string()) + " | " +
                               shell_quote(ASSAY_BIN_DIR "/assay-agent") + " --node 0 | " + filter;
    return {{{"/bin/sh", "-c", first + "; " + script}, {0}, "far", bundle}};
  }
  std::vector<std::string> do_agent_command(const std::string& /*host*/,
                                            const agent::Hello& /*hello*/,
                                            const std::vector<std::string>& args) const override {
    std::vector<std::string> argv{ASSAY_BIN_DIR "/assay-agent"};
    argv.insert(argv.end(), args.begin(), args.end());
    return argv;
  }

  Nanoseconds do_start_limit() const override { return limit; }

  std::filesystem::path file_;
};

class Fleets : public ::testing::Test {
 protected:
  void connect() {
    bool there = false;
    asio::co_spawn(loop_, fleet_.connect(),
                   [&](const std::exception_ptr& error) { there = !error; });
    while (!there && loop_.run_one_for(10s) > 0) {
    }
    ASSERT_TRUE(there);
  }
  void disconnect() {
    asio::co_spawn(loop_, fleet_.disconnect(), [&](const std::exception_ptr&) { loop_.stop(); });
    loop_.run_for(60s);
  }

  const testing::TemporaryFolder folder_;
  const std::filesystem::path told_ = folder_.path() / "told";
  asio::io_context loop_{1};
  OverheardLauncher launcher_{told_};
  Fleet fleet_{loop_, launcher_, {"far"}};
};

// A link that is cut in the first seconds must not leave the agent alone for longer than later.
TEST_F(Fleets, PingAnAgentAsSoonAsItAnswers) {
  connect();
  loop_.run_for(1s);
  EXPECT_THAT(read_file(told_), HasSubstr("\"ping\""));
  disconnect();
}

TEST_F(Fleets, WaitForProgramsThatComeSlowlyButCome) {
  launcher_.bundle = folder_.write("bundle", std::string(4 << 20, 'x'));
  launcher_.limit = 1s;
  launcher_.first =
      "echo ASSAY-SEND-BUNDLE 0; for i in 1 2 3 4 5 6 7 8; do "
      "dd bs=1k count=512 iflag=fullblock of=/dev/null 2>/dev/null; sleep 0.4; done";
  connect();
  disconnect();
}

TEST_F(Fleets, SayThatProgramsCameOnlyInPart) {
  launcher_.bundle = folder_.write("bundle", std::string(4 << 20, 'x'));
  launcher_.limit = 1s;
  launcher_.first =
      "echo ASSAY-SEND-BUNDLE 0; dd bs=1k count=1024 iflag=fullblock of=/dev/null 2>/dev/null; "
      "exec sleep 60";
  std::string said;
  asio::co_spawn(loop_, fleet_.connect(), [&](const std::exception_ptr& error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const Error& failure) {
      said = failure.what();
    }
    loop_.stop();
  });
  loop_.run_for(60s);
  EXPECT_THAT(said, HasSubstr("far: the programs came only in part"));
  EXPECT_THAT(said, HasSubstr("the next start goes on where this one stopped"));
}

TEST_F(Fleets, KillAnAgentThatIsStoppedWithItsGuardianAtTheEnd) {
  connect();
  std::vector<pid_t> both;
  for (const std::string& name : fleet_.identity(0).processes)
    if (const auto pid = find_process(name)) both.push_back(*pid);
  ASSERT_EQ(both.size(), 2u);
  for (const pid_t pid : both) send_signal(pid, SIGSTOP);
  disconnect();
  for (const std::string& name : fleet_.identity(0).processes)
    EXPECT_TRUE(testing::eventually([&] { return !find_process(name); })) << name;
}

TEST_F(Fleets, BringBackAnAgentThatWasKilledAndLeaveOneThatServes) {
  connect();
  const std::vector<std::string> before = fleet_.identity(0).processes;
  for (const std::string& name : before)
    if (const auto pid = find_process(name)) send_signal(*pid, SIGKILL);
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (fleet_.connected(0) && std::chrono::steady_clock::now() < deadline)
    loop_.run_one_for(100ms);
  ASSERT_FALSE(fleet_.connected(0));
  for (const bool gone : {true, false}) {
    std::string problem = "no answer";
    bool over = false;
    asio::co_spawn(loop_, fleet_.bring_back(0, {.agents = before}),
                   [&](const std::exception_ptr&, const std::string& why) {
                     problem = why;
                     over = true;
                   });
    while (!over && loop_.run_one_for(60s) > 0) {
    }
    EXPECT_EQ(problem, "") << gone;
    EXPECT_TRUE(fleet_.present(0));
  }
  EXPECT_NE(fleet_.identity(0).processes, before);
  disconnect();
}

// Its input is closed, and it cannot see that.
TEST_F(Fleets, KillAnAgentThatWasStoppedWithItsGuardianBeforeItSaidHello) {
  const std::string name_file = (folder_.path() / "name").string();
  // Stops what has begun, and lets nothing more through.
  launcher_.filter =
      "{ read -r begun; name=$(echo \"$begun\" | sed 's/.*\\[\"\\(.*\\)\"\\].*/\\1/'); "
      "pid=$(echo \"$name\" | cut -d: -f3); "
      "until agent=$(cat /proc/$pid/task/$pid/children) && [ -n \"$agent\" ]; do :; done; "
      "kill -STOP $pid $agent; echo $name $agent > " +
      shell_quote(name_file) + "; echo \"$begun\"; exec cat > /dev/null; }";
  std::map<int, std::string> missing;
  bool over = false;
  asio::co_spawn(loop_, fleet_.try_connect(),
                 [&](const std::exception_ptr&, const std::map<int, std::string>& without) {
                   missing = without;
                   over = true;
                 });
  while (!over && loop_.run_one_for(60s) > 0) {
  }
  EXPECT_THAT(missing[0], HasSubstr("its agent began, and said nothing more in 5"));
  const std::string written = read_file(name_file);
  const auto words = split(trim(written), ' ');
  ASSERT_EQ(words.size(), 2U) << written;
  EXPECT_TRUE(testing::eventually([&] { return !find_process(words[0]); })) << written;
  EXPECT_TRUE(testing::eventually([&] {
    return !std::filesystem::exists("/proc/" + std::string(words[1]));
  })) << written;
}

}  // namespace
}  // namespace assay::launch
