// The agent alone, spoken to over its pipes as a controller would.

#include <algorithm>
#include <memory>
#include <stdexcept>

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "e2e/harness.h"
#include "send_signal.h"

namespace assay::e2e {

using namespace std::chrono_literals;

namespace {

/// An assay-agent whose stdin and stdout this test holds.
class AgentProcess {
 public:
  explicit AgentProcess(std::vector<std::string> argv = {ASSAY_BIN_DIR "/assay-agent", "--node",
                                                         "0"})
      : child_(spawn({.argv = std::move(argv),
                      .in = Stream::pipe(),
                      .out = Stream::pipe(),
                      .err = Stream::inherit(),
                      .group = Group::shared,
                      .dies_with_parent = false})) {}

  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  void send(const Json& message) const {
    const std::string line = message.dump() + "\n";
    ASSERT_EQ(::write(child_.in.get(), line.data(), line.size()),
              static_cast<ssize_t>(line.size()));
  }
  /// What a controller that dies does to its end of the pipes.
  void hang_up() {
    child_.in.reset();
    child_.out.reset();
  }
  [[nodiscard]] bool ended() { return child_.poll().has_value(); }

 private:
  Child child_;
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
  send_signal(agent.pid(), SIGTERM);
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
      send_signal(agent.pid(), SIGTERM);
    else
      agent.hang_up();
    EXPECT_TRUE(eventually([&] { return agent.ended(); }, 20s));
    EXPECT_THAT(read_file(folder / "agent.log"),
                ::testing::ContainsRegex(asked ? "asked to end by a signal"
                                               : "the controller (is gone|does not listen)"));
  }
}

TEST_F(AgentAlone, OutlivesALimitOfFileSizes) {
  AgentProcess agent(
      {"/bin/sh", "-c", "ulimit -f 40; exec " ASSAY_BIN_DIR "/assay-agent --node 0"});
  agent.send(round_of("head -c 1000000 /dev/zero | tr '\\0' x && echo > done; exec sleep 30",
                      folder_ / "round"));
  const auto is_done = [&] { return fs::exists(folder_ / "round/done"); };
  EXPECT_TRUE(eventually(is_done, 20s)) << "its log could not be written, and it was killed";
  EXPECT_FALSE(agent.ended());
  agent.hang_up();
  EXPECT_TRUE(eventually([&] { return agent.ended(); }, 20s));
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
