#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/round_supervisor.h"
#include "core/cpu_set.h"
#include "core/files.h"
#include "core/process.h"
#include "core/process_tree.h"
#include "needs.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

using namespace std::chrono_literals;

// Runs one round in this process as an agent would.
class Rounds : public ::testing::Test {
 protected:
  void SetUp() override { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

  RoundRequest request(const std::string& script, int ranks = 1) const {
    RoundRequest out;
    out.id = "test/" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name());
    out.directory = folder_.path() / "node";
    for (int rank = 0; rank < ranks; ++rank)
      out.ranks.push_back(
          {rank, rank, {"/bin/sh", "-c", script}, {{"RANK", std::to_string(rank)}}});
    out.time_limit = 20s;
    out.grace = 300ms;
    return out;
  }

  void run(const RoundRequest& round, const std::function<void(RoundSupervisor&)>& then = {}) {
    asio::io_context loop(1);
    asio::signal_set children(loop, SIGCHLD);
    RoundSupervisor supervisor(
        loop, 0, round,
        [&](const Report& report) {
          messages_.push_back(to_json(report));
          if (on_report_) asio::post(loop, [&, report] { on_report_(supervisor, report); });
        },
        [&] { loop.stop(); });
    std::function<void()> wait = [&] {
      children.async_wait([&](const asio::error_code& ec, int) {
        if (ec) return;
        supervisor.children_changed();
        wait();
      });
    };
    wait();
    supervisor.start();
    if (then) then(supervisor);
    loop.run_for(30s);
  }

  [[nodiscard]] Json first(const std::string& type) const {
    for (const Json& message : messages_)
      if (message["type"] == type) return message;
    return {};
  }

  testing::TemporaryFolder folder_;
  std::vector<Json> messages_;
  std::function<void(RoundSupervisor&, const Report&)> on_report_;
};

// Its evidence would lie on a disk where nobody looks for it.
TEST_F(Rounds, ANodeThatDoesNotShareTheFolderOfTheRunSaysSoAndStartsNothing) {
  RoundRequest round = request("echo ran");
  round.shared_file = folder_.path() / "nowhere/plan.json";
  run(round);
  EXPECT_THAT(first("start_failed").dump(),
              ::testing::AllOf(::testing::HasSubstr("environment"),
                               ::testing::HasSubstr("is not there on this node"),
                               ::testing::HasSubstr("nowhere"), ::testing::HasSubstr("share")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "node/rank0.out.log"));
}

TEST_F(Rounds, AFolderOfTheRunThatShowsLateIsWaitedFor) {
  RoundRequest round = request("echo ran");
  round.shared_file = folder_.path() / "plan.json";
  const Child other =
      spawn({.argv = {"/bin/sh", "-c", "sleep 0.5; touch \"$0\"", round.shared_file.string()}});
  run(round);
  EXPECT_EQ(read_file(folder_.path() / "node/rank0.out.log"), "ran\n");
}

TEST_F(Rounds, EveryRankGetsItsEnvironmentAndLog) {
  run(request("echo rank $RANK; echo error >&2", 3));
  EXPECT_EQ(read_file(folder_.path() / "node/rank2.out.log"), "rank 2\nerror\n");
  EXPECT_EQ(first("rank_exit")["code"], 0);
  EXPECT_EQ(first("rank_exit")["ended_by"], "itself");
  EXPECT_FALSE(first("round_end").is_null());
}

// The list holds what is there, and the chain ends with the head that the controller gets.
TEST_F(Rounds, ListsTheFilesThatItLeaves) {
  RoundRequest round =
      request("echo rank $RANK; echo told >> node/set_result.jsonl; touch node/other", 2);
  round.workdir = folder_.path();
  round.files["config.json"] = "{}\n";
  round.telemetry_interval = 100ms;
  run(round);
  const RoundEnd end = fields_from_json<RoundEnd>(first("round_end"), "round_end");
  ASSERT_TRUE(end.files);
  std::vector<std::string> names;
  for (const evidence::FileRecord& file : *end.files) {
    names.push_back(file.name);
    EXPECT_EQ(evidence::measure_file(round.directory / file.name, file.name), file);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("config.json", "rank0.out.log",
                                                     "rank1.out.log", "set_result.jsonl",
                                                     "telemetry.csv", "evidence.jsonl"));
  const evidence::ChainCheck chain =
      evidence::verify_chain(read_file(round.directory / "evidence.jsonl"), round.id, 0);
  EXPECT_TRUE(chain.ok()) << chain.problem;
  EXPECT_EQ(chain.head, end.head);
  ASSERT_GE(chain.links.size(), 2U);
  EXPECT_EQ(chain.links.front().files.at(0).name, "config.json");
  EXPECT_LE(first("rank_start")["mono_ns"], chain.links.back().at.mono_ns);
}

TEST_F(Rounds, HeartbeatsCarryTheHeadOfTheChainByThen) {
  const RoundRequest round = request("echo one; sleep 1.5; echo two");
  run(round);
  const std::string head = first("heartbeat").value("head", "");
  const evidence::ChainCheck chain =
      evidence::verify_chain(read_file(round.directory / "evidence.jsonl"), round.id, 0);
  ASSERT_TRUE(chain.ok());
  const auto at = std::ranges::find(chain.links, head, &evidence::Link::head);
  ASSERT_NE(at, chain.links.end());
  EXPECT_EQ(at->files.back().sha256, sha256("one\n"));
  EXPECT_EQ(chain.links.back().files.back().sha256, sha256("one\ntwo\n"));
}

TEST_F(Rounds, BeginsTheChainAnewWhereAnotherLies) {
  const RoundRequest round = request("true");
  folder_.write("node/evidence.jsonl", "of an earlier attempt\n");
  run(round);
  EXPECT_TRUE(
      evidence::verify_chain(read_file(round.directory / "evidence.jsonl"), round.id, 0).ok());
}

TEST_F(Rounds, ARankThatCannotBeStartedIsNamedAndTheOthersEnd) {
  RoundRequest round = request("sleep 60", 2);
  round.ranks[1].argv = {"/no/such/program"};
  run(round);
  EXPECT_EQ(first("start_failed")["rank"], 1);
  EXPECT_EQ(first("start_failed")["reason"],
            "cannot execute '/no/such/program': No such file or directory");
  EXPECT_EQ(first("rank_exit")["rank"], 0);
}

TEST_F(Rounds, AWorkdirThatDoesNotExistIsSaid) {
  RoundRequest round = request("true");
  round.workdir = "/no/such/folder";
  run(round);
  EXPECT_EQ(first("start_failed")["reason"],
            "cannot enter the folder '/no/such/folder': No such file or directory");
}

TEST_F(Rounds, ATimeLimitNamesWhoWasSilentForMostOfItThoughThereIsNoStallLimit) {
  RoundRequest round = request("exec sleep 60");
  round.time_limit = 800ms;
  run(round);
  EXPECT_EQ(first("limit")["silent"].size(), 1U);
}

TEST_F(Rounds, TheTimeLimitTellsWhatTheSilentRanksDo) {
  RoundRequest round = request("test $RANK = 0 || exec sleep 60", 2);
  round.time_limit = 400ms;
  round.stall_limit = 300ms;
  run(round);
  const Json silent = first("limit")["silent"];
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0]["rank"], 1);
  EXPECT_EQ(silent[0]["state"], "S");
  EXPECT_EQ(first("rank_exit")["rank"], 0);
}

TEST_F(Rounds, TheTimeLimitTellsOfAProcessThatWasStoppedBelowARank) {
  RoundRequest round = request("sh -c 'kill -STOP $$; :'; :");
  round.time_limit = 1s;
  run(round);
  EXPECT_EQ(first("limit")["silent"][0]["state"], "T");
}

TEST_F(Rounds, HeartbeatsTellOfARankThatStoppedSteppingThoughItPrints) {
  RoundRequest round = request(
      "for i in 1 2 3; do echo '[PerfLog] {\"event\": \"STEP_END\", \"step\": '$i'}'; done\n"
      "echo '[PerfLog] {\"event\": \"STEP_BEGIN\", \"step\": 4}'\n"
      "while :; do echo still here; sleep 0.05; done");
  round.stall_limit = 1s;
  round.time_limit = 3500ms;
  run(round);
  const Json silent = first("heartbeat")["silent"];
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0]["steps"], 3);
  EXPECT_EQ(silent[0]["step"], 4);
  EXPECT_EQ(silent[0]["in_step"], true);
  EXPECT_GT(silent[0]["event_idle_s"].get<double>(), 0.5);
  EXPECT_LT(silent[0]["idle_s"].get<double>(), silent[0]["event_idle_s"].get<double>());
  const Json last = first("limit")["silent"][0];
  EXPECT_GT(last["cpu"].get<double>(), 0) << "it was looked at twice, and printed in between";
}

TEST_F(Rounds, ANodeWithoutRanksIsWatchedUntilItIsStoppedAndWhatCarriesTheMarkEndsWithIt) {
  RoundRequest round = request("true", 0);
  round.telemetry_interval = 100ms;
  // As mpirun's ssh would start it: not by this agent, but with the round's mark.
  const Child elsewhere =
      spawn({.argv = {"sleep", "60"}, .env = environment_with({"ASSAY_ROUND_ID=" + round.id})});
  int beats = 0;
  on_report_ = [&](RoundSupervisor& supervisor, const Report& report) {
    if (std::holds_alternative<Heartbeat>(report) && ++beats == 3)
      supervisor.stop(EndedBy::stop, 1s);
  };
  run(round);
  EXPECT_EQ(beats, 3);
  EXPECT_EQ(first("round_end")["marked"], 1);
  EXPECT_TRUE(processes_of_round(round.id).empty());
  const std::string table = read_file(round.directory / "telemetry.csv");
  EXPECT_GT(std::ranges::count(table, '\n'), 15) << "it was sampled to the end";
}

TEST_F(Rounds, AStopEndsTheWholeTreeAlsoWhenItIgnoresSigterm) {
  RoundRequest round =
      request("trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 60' &); sleep 60");
  round.time_limit = 400ms;
  run(round);
  EXPECT_EQ(first("rank_exit")["signal"], SIGKILL);
  EXPECT_EQ(first("rank_exit")["ended_by"], "time limit");
  EXPECT_TRUE(processes_of_round(round.id).empty());
}

// The shell around a command dies of the signal; what it ran has the grace all the same.
TEST_F(Rounds, WhatAShellRanHasTheGraceToo) {
  const std::string saved = (folder_.path() / "saved").string();
  RoundRequest round = request("sh -c 'trap \"sleep 0.5; echo >> " + saved +
                               "; exit 0\" TERM; while :; do sleep 0.05; done'; echo not reached");
  round.time_limit = 3s;
  round.grace = 20s;
  run(round);
  EXPECT_EQ(first("rank_exit")["signal"], SIGTERM);
  EXPECT_EQ(read_file(saved), "\n") << "asked once";
  EXPECT_TRUE(processes_of_round(round.id).empty());
}

TEST_F(Rounds, ASecondStopShortensTheGrace) {
  RoundRequest round = request("trap '' TERM; echo ready; sleep 60");
  round.grace = 60s;
  run(round, [](RoundSupervisor& supervisor) {
    supervisor.stop(EndedBy::stop, 60s);
    supervisor.stop(EndedBy::stop, 100ms);
  });
  EXPECT_EQ(first("rank_exit")["ended_by"], "stop");
}

// podman ends with 0 when it is stopped while it starts a container, which stays.
TEST_F(Rounds, TheContainerOfAStoppedRankIsRemovedThoughItsClientSucceeded) {
  const std::filesystem::path ready = folder_.path() / "ready";
  RoundRequest round =
      request("trap 'exit 0' TERM; echo > " + ready.string() + "; while :; do sleep 0.05; done");
  round.ranks[0].cleanup = {"/bin/touch", (folder_.path() / "removed").string()};
  on_report_ = [&](RoundSupervisor& supervisor, const Report&) {
    if (std::filesystem::exists(ready)) supervisor.stop(EndedBy::stop, 10s);
  };
  run(round);
  EXPECT_EQ(first("rank_exit")["code"], 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "removed"));
}

TEST_F(Rounds, TheContainerOfARankThatSucceededByItselfIsNotRemovedAgain) {
  RoundRequest round = request("true");
  round.ranks[0].cleanup = {"/bin/touch", (folder_.path() / "removed").string()};
  run(round);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "removed"));
}

// Before its rank is killed and after it, in less time than the controller gives the end of a
// round.
TEST_F(Rounds, AContainerThatCannotBeRemovedIsNamedWhileTheHeartbeatsGoOn) {
  RoundRequest round = request("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  round.ranks[0].cleanup = {"/bin/false"};
  round.time_limit = 500ms;
  std::int64_t beat_ns = 0;
  std::int64_t longest_ns = 0;
  int after_the_exit = 0;
  on_report_ = [&](RoundSupervisor&, const Report& report) {
    if (!std::holds_alternative<Heartbeat>(report)) return;
    const std::int64_t at = mono_now_ns();
    if (beat_ns != 0) longest_ns = std::max(longest_ns, at - beat_ns);
    beat_ns = at;
    after_the_exit += first("rank_exit").is_null() ? 0 : 1;
  };
  const std::int64_t begin = mono_now_ns();
  run(round);
  EXPECT_LT(mono_now_ns() - begin, Nanoseconds(20s).count());
  EXPECT_FALSE(first("round_end").is_null());
  EXPECT_EQ(first("gap")["reason"], "its container could not be removed with /bin/false");
  EXPECT_EQ(first("rank_exit")["signal"], SIGKILL);
  EXPECT_LT(longest_ns, Nanoseconds(5s).count()) << "the agent seemed dead";
  EXPECT_GE(after_the_exit, 3);
}

TEST_F(Rounds, ADaemonLeftBehindIsKilledAndCounted) {
  run(request("setsid sleep 60 >/dev/null 2>&1 &"));
  EXPECT_EQ(first("rank_exit")["code"], 0);
  EXPECT_EQ(first("round_end")["killed_leftovers"], 1);
  EXPECT_TRUE(processes_of_round("test/ADaemonLeftBehindIsKilledAndCounted").empty());
}

// What it would have printed is missing, though its rank ended well.
TEST_F(Rounds, ADaemonThatHoldsTheOutputOfItsRankIsTold) {
  run(request("test $RANK = 0 || exit 0; setsid sleep 60 & echo speed 5", 2));
  EXPECT_EQ(first("round_end")["killed_leftovers"], 1);
  EXPECT_EQ(first("round_end")["output_held"], Json({0}));
}

TEST_F(Rounds, ADaemonWithAnOutputOfItsOwnHoldsNone) {
  run(request("setsid sleep 60 >/dev/null 2>&1 & echo speed 5"));
  EXPECT_FALSE(first("round_end").contains("output_held"));
}

TEST_F(Rounds, AHelperThatFollowsItsRankHoldsNone) {
  run(request("sleep 0.2 & echo speed 5"));
  EXPECT_EQ(first("round_end")["killed_leftovers"], 0);
  EXPECT_FALSE(first("round_end").contains("output_held"));
}

// As a daemon that changes its parent just while somebody looks for it.
TEST_F(Rounds, AnOutputThatAnUnseenProcessHoldsIsNotClosedAtOnce) {
  UniqueFd held;
  on_report_ = [&](RoundSupervisor&, const Report& report) {
    if (const auto* start = std::get_if<RankStart>(&report))
      held.reset(
          ::open(("/proc/" + std::to_string(start->pid) + "/fd/1").c_str(), O_WRONLY | O_CLOEXEC));
    if (std::holds_alternative<RankExit>(report)) {
      const std::string late = "late\n";
      EXPECT_EQ(::write(held.get(), late.data(), late.size()), 5);
    }
  };
  run(request("echo early; sleep 1"));
  EXPECT_EQ(read_file(folder_.path() / "node/rank0.out.log"), "early\nlate\n");
  EXPECT_EQ(first("round_end")["killed_leftovers"], 0);
  EXPECT_EQ(first("round_end")["output_held"], Json({0}));
}

TEST_F(Rounds, AFolderThatCannotBeMadeFailsTheStart) {
  RoundRequest round = request("true");
  round.directory = "/proc/nowhere";
  run(round);
  EXPECT_EQ(first("start_failed")["kind"], "environment");
  EXPECT_FALSE(first("round_end").is_null());
}

TEST_F(Rounds, SweepFindsARoundsProcessesByTheirEnvironment) {
  const std::string id = "test/sweep-" + std::to_string(::getpid());
  const Child child =
      spawn({.argv = {"sleep", "60"}, .env = environment_with({"ASSAY_ROUND_ID=" + id})});
  EXPECT_EQ(sweep_round(id), 1);
  EXPECT_TRUE(processes_of_round(id).empty());
}

// The rank that leaves its binding does so as OpenMP or taskset would.
TEST_F(Rounds, BoundRanksStartWhereTheyAreToStayAndAreSeenWhereTheyRan) {
  const CpuSet usable = CpuSet::usable();
  const int first_cpu = usable.cpus().front();
  RoundRequest bound = request("grep Cpus_allowed_list /proc/self/status; sleep 0.5");
  bound.bind = {BindMode::listed, {CpuSet({first_cpu})}};
  run(bound);
  EXPECT_EQ(first("rank_start")["bound"], std::to_string(first_cpu));
  EXPECT_EQ(first("rank_exit")["ran_on"], std::to_string(first_cpu));
  EXPECT_THAT(read_file(folder_.path() / "node/rank0.out.log"),
              ::testing::EndsWith("\t" + std::to_string(first_cpu) + "\n"));
  EXPECT_EQ(CpuSet::usable(), usable) << "the agent itself is as free as before";
}

TEST_F(Rounds, ARankThatLeavesItsBindingIsSeenThere) {
  const CpuSet usable = CpuSet::usable();
  if (usable.size() < 2 || !find_program("taskset"))
    GTEST_SKIP() << needs::system("two CPUs and taskset");
  const std::string second = std::to_string(usable.cpus().back());
  RoundRequest bound = request("taskset -p -c " + second + " $$ > /dev/null; sleep 0.5; true");
  bound.bind = {BindMode::listed, {CpuSet({usable.cpus().front()})}};
  run(bound);
  EXPECT_TRUE(CpuSet::parse(first("rank_exit")["ran_on"].get<std::string>())
                  ->contains(usable.cpus().back()));
}

TEST_F(Rounds, CpusThatCannotBeUsedFailTheStartByName) {
  RoundRequest bound = request("true");
  bound.bind = {BindMode::listed, {CpuSet({9999})}};
  run(bound);
  EXPECT_THAT(first("start_failed")["reason"].get<std::string>(),
              ::testing::HasSubstr("9999 cannot be used here"));
  EXPECT_EQ(first("rank_start"), Json());
}

}  // namespace
}  // namespace assay::agent
