// The agent alone, spoken to over its pipes as a controller would.

#include <algorithm>
#include <memory>
#include <stdexcept>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

using namespace std::chrono_literals;

namespace {

/// An assay-agent whose stdin and stdout this test holds.
class AgentProcess {
 public:
  AgentProcess() {
    int to_agent[2];
    int from_agent[2];
    if (::pipe2(to_agent, O_CLOEXEC) != 0 || ::pipe2(from_agent, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipes");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(to_agent[0], STDIN_FILENO);
      ::dup2(from_agent[1], STDOUT_FILENO);
      ::execl(ASSAY_BIN_DIR "/assay-agent", "assay-agent", "--node", "0", nullptr);
      ::_exit(127);
    }
    ::close(to_agent[0]);
    ::close(from_agent[1]);
    input_ = to_agent[1];
    output_ = from_agent[0];
  }
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;
  ~AgentProcess() {
    hang_up();
    if (!ended_ && !ended()) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(const Json& message) const {
    const std::string line = message.dump() + "\n";
    ASSERT_EQ(::write(input_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  /// What a controller that dies does to its end of the pipes.
  void hang_up() {
    if (input_ < 0) return;
    ::close(input_);
    ::close(output_);
    input_ = -1;
  }
  [[nodiscard]] bool ended() {
    ended_ = ended_ || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    return ended_;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  bool ended_ = false;
};

Json round_of(const std::string& script, const fs::path& folder) {
  return {{"node", 0},
          {"type", "round"},
          {"id", "alone"},
          {"directory", folder.string()},
          {"workdir", folder.string()},
          {"files", Json::object()},
          {"env", {{"PATH", "/usr/bin:/bin"}}},
          {"ranks",
           {{{"rank", 0},
             {"local_rank", 0},
             {"argv", {"/bin/sh", "-c", script}},
             {"env", Json::object()}},
            {{"rank", 1},
             {"local_rank", 1},
             {"argv", {"/bin/sh", "-c", script}},
             {"env", Json::object()}}}},
          {"time_limit_ns", 0},
          {"stall_limit_ns", 0},
          {"grace_ns", 1'000'000'000},
          {"output_limit", 1 << 20},
          {"telemetry_interval_ns", 0},
          {"sources", Json::array()}};
}

}  // namespace

class AgentAlone : public AssayTest {};

// Ranks and their children that end in the same moment make signals that are still queued when
// the agent is done; one in twenty agents used to wait for the next signal for ever.
TEST_F(AgentAlone, EndsAlwaysWhenItsControllerIsGone) {
  std::vector<std::unique_ptr<AgentProcess>> agents;
  for (int i = 0; i < 60; ++i) {
    agents.push_back(std::make_unique<AgentProcess>());
    agents.back()->send(
        round_of("trap : TERM; sleep 30 & sleep 0.3; wait; exit 0", folder_ / std::to_string(i)));
  }
  ::usleep(300'000);
  for (const auto& agent : agents) agent->hang_up();
  EXPECT_TRUE(eventually(
      [&] { return std::ranges::all_of(agents, [](const auto& agent) { return agent->ended(); }); },
      15s));
}

TEST_F(AgentAlone, EndsWhenAskedThoughNobodyReadsItsReports) {
  AgentProcess agent;
  for (int i = 0; i < 2000; ++i) agent.send({{"node", 0}, {"type", "no such request"}});
  ::kill(agent.pid(), SIGTERM);
  EXPECT_TRUE(eventually([&] { return agent.ended(); }, 5s));
}

// As behind a cut link: the pipes stay open, and nothing comes.
TEST_F(AgentAlone, EndsItsRanksAndItselfWhenAControllerThatPingedFallsSilent) {
  const std::string marker = "65." + std::to_string(::getpid());
  AgentProcess agent;
  agent.send(round_of("exec sleep " + marker, folder_ / "round"));
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 2; }));
  const Json ping{{"node", -1}, {"type", "ping"}, {"silence_ns", 2'000'000'000}};
  for (int i = 0; i < 8; ++i) {
    agent.send(ping);
    ::usleep(500'000);
  }
  EXPECT_FALSE(agent.ended()) << "it ended though it was pinged";
  EXPECT_EQ(processes_with("sleep " + marker).size(), 2u);
  EXPECT_TRUE(eventually([&] { return agent.ended(); }, 20s));
  EXPECT_TRUE(processes_with("sleep " + marker).empty());
  EXPECT_THAT(read_file(folder_ / "round" / "agent.log"),
              ::testing::HasSubstr("controller fell silent"));
}

TEST_F(AgentAlone, KeepsWhyItEndedBesideTheRanksLogs) {
  for (const bool asked : {true, false}) {
    const fs::path folder = folder_ / (asked ? "asked" : "alone");
    AgentProcess agent;
    agent.send(round_of("exec sleep 30", folder));
    ASSERT_TRUE(eventually([&] { return fs::exists(folder / "rank1.out.log"); }));
    if (asked)
      ::kill(agent.pid(), SIGTERM);
    else
      agent.hang_up();
    EXPECT_TRUE(eventually([&] { return agent.ended(); }, 20s));
    EXPECT_THAT(
        read_file(folder / "agent.log"),
        ::testing::HasSubstr(asked ? "asked to end by a signal" : "the controller is gone"));
  }
}

TEST_F(AgentAlone, RunsTheCleanupsOfALostRoundAfterSweepingIt) {
  const std::string made = (folder_ / "made").string();
  const CommandResult sweep = run_command({ASSAY_BIN_DIR "/assay-agent", "--sweep", "no-such-round",
                                           Json({"touch", made}).dump(), "not a command"});
  EXPECT_EQ(sweep.status.code, 0) << sweep.err;
  EXPECT_EQ(sweep.out, "0\n");
  EXPECT_TRUE(fs::exists(made));
}

TEST_F(AgentAlone, TriesCommandsUntilOneSucceeds) {
  const auto until = [](const Json& commands) {
    return run_command({ASSAY_BIN_DIR "/assay-agent", "--until", commands.dump()});
  };
  const CommandResult second = until({{"false"}, {"echo", "pulled"}, {"echo", "never"}});
  EXPECT_EQ(second.status.code, 0);
  EXPECT_EQ(second.out, "pulled\n");
  EXPECT_EQ(until({{"false"}, {"sh", "-c", "exit 9"}}).status.code, 9);
  const CommandResult missing = until(Json::array({Json::array({"no-such-runtime"})}));
  EXPECT_EQ(missing.status.code, 127);
  EXPECT_EQ(missing.err, "no-such-runtime is not installed on this node\n");
}

}  // namespace assay::e2e
