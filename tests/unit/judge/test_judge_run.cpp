#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "judge/judge.h"
#include "judge/load.h"
#include "judge/round_journal.h"
#include "sealed_run.h"
#include "store/run_dir.h"
#include "temporary_folder.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A run directory on disk, written as the launcher and the agent write it.
class JudgeRun : public ::testing::Test {
 protected:
  void SetUp() override {
    plan_.run_id = "run20261115T101500Z-3f2a";
    plan_.suite = "acceptance";
    plan_.suite_file = "/somewhere/suites/acceptance.yaml";
    plan_.suite_sha256 = "abc";
    plan_.created = "2026-11-15T10:15:00Z";
    plan_.assay_version = "0.1.0";
    plan_.cases = {case_plan(1, 2, 2)};
    plan_.telemetry.enabled = false;
  }

  void create() { store::RunDir::create(root_, plan_); }
  [[nodiscard]] fs::path dir() const { return root_ / plan_.run_id; }
  void journal(const std::string& text) const {
    std::ofstream(dir() / "journal.jsonl", std::ios::app) << text;
  }
  static std::string at(double t) {
    return "\"wall_ns\": " + std::to_string(moment(t).wall_ns) +
           ", \"mono_ns\": " + std::to_string(moment(t).mono_ns);
  }
  void event(const std::string& name, double t, const std::string& fields) const {
    journal("{\"event\": \"" + name + "\", " + at(t) + ", " + fields + "}\n");
  }
  void start_round(int round, double t = -0.1) const {
    event("round_start", t,
          "\"case\": \"case\", \"round\": " + std::to_string(round) +
              ", \"nodes\": [{\"node\": 0, \"host\": \"node0\"}], \"master_port\": 1");
    for (int r = 0; r < 2; ++r)
      event("rank_start", t + 0.1,
            key(round) + ", \"rank\": " + std::to_string(r) + ", \"node\": 0, \"local_rank\": " +
                std::to_string(r) + ", \"host\": \"node0\", \"pid\": 1");
  }
  void end_round(int round, const std::string& status = "completed") const {
    for (int r = 0; r < 2; ++r)
      event("rank_exit", 13,
            key(round) + ", \"rank\": " + std::to_string(r) +
                ", \"node\": 0, \"code\": 0, \"ended_by\": \"itself\", \"dropped_bytes\": 0");
    event("node_end", 13.1,
          key(round) +
              ", \"node\": 0, \"host\": \"node0\", \"agent_cpu_s\": 0.013, "
              "\"agent_rss_bytes\": 1, \"killed_leftovers\": 0");
    event("round_end", 13.2, key(round) + ", \"status\": \"" + status + "\", \"reason\": \"\"");
  }
  static std::string key(int round) {
    return "\"case\": \"case\", \"round\": " + std::to_string(round);
  }
  [[nodiscard]] fs::path node_dir(int round) const {
    return dir() / "case" / ("round" + std::to_string(round)) / "node0_noderank0";
  }
  void write_log(int round, int rank, double samples = 32) const {
    fs::create_directories(node_dir(round));
    std::ofstream log(node_dir(round) / ("rank" + std::to_string(rank) + ".out.log"));
    const auto line = [&](const std::string& name, double t, const std::string& value) {
      const Stamp s = stamp(t);
      log << "[PerfLog] {\"event\": \"" << name << "\"" << value
          << ", \"metadata\": {\"time_ms\": " << s.wall_ms << ", \"mono_us\": " << s.mono_us
          << ", \"rank\": " << rank << "}}\n";
    };
    log << "some text first\n";
    line("TRAIN_START", 2, "");
    for (int i = 1; i <= 100; ++i)
      line("STEP_END", 2 + i * 0.1,
           ", \"step\": " + std::to_string(i) +
               ", \"value\": {\"loss\": 1.0, \"samples\": " + std::to_string(samples) + "}");
    line("TRAIN_END", 12, "");
  }
  [[nodiscard]] RunResult judge() const { return judge_run(store::RunDir::open(dir())); }

  assay::testing::TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  plan::Plan plan_;
};

TEST_F(JudgeRun, ReadsWhatALauncherWrote) {
  create();
  for (int round = 1; round <= 2; ++round) {
    start_round(round);
    write_log(round, 0);
    write_log(round, 1);
    end_round(round);
  }
  assay::testing::seal_by_hand(dir());
  const RunResult result = judge();
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_EQ(result.validity, Validity::valid);
  EXPECT_EQ(result.run_id, plan_.run_id);
  ASSERT_THAT(result.cases, SizeIs(1));
  ASSERT_THAT(result.cases[0].rounds, SizeIs(2));
  const RoundResult& round = result.cases[0].rounds[0];
  EXPECT_NEAR(*metric(round, "p_whole"), 640, 1e-6);
  EXPECT_NEAR(*metric(round, "e2e_time"), 13, 1e-6);
  EXPECT_NEAR(*metric(round, "launch_time"), 0.1, 1e-6);
  EXPECT_NEAR(*metric(round, "harness_overhead"), 0.001, 1e-6);
  EXPECT_EQ(round.ranks[1].log, "case/round1/node0_noderank0/rank1.out.log");
  EXPECT_EQ(round.ranks[1].steps, 100);
  EXPECT_THAT(round.started, HasSubstr("2026-"));
  EXPECT_EQ(result.provenance["suite_file"], "acceptance.yaml");
}

TEST_F(JudgeRun, SaysOfASealThatFitsWhenAFileOfARoundWasChanged) {
  create();
  for (int round = 1; round <= 2; ++round) {
    start_round(round);
    write_log(round, 0);
    write_log(round, 1);
    end_round(round);
  }
  assay::testing::seal_by_hand(dir());
  write_log(2, 1, 99);
  const RunResult result = judge();
  EXPECT_EQ(result.validity, Validity::invalid);
  EXPECT_EQ(result.seal.state, Soundness::flawed);
  EXPECT_EQ(result.seal.text, "sealed, but evidence of 1 round was changed since");
}

TEST_F(JudgeRun, MakesTheRecordOfAJobInACloud) {
  plan_.cluster.use_launcher(plan::ModelArtsOptions{});
  create();
  start_round(1);
  end_round(1);
  const auto add_job = [&](double t) {
    event("job_ended", t,
          key(1) + ", \"upload_start_ns\": " + std::to_string(moment(-60).wall_ns) +
              ", \"created_ns\": " + std::to_string(moment(-30).wall_ns) +
              ", \"started_ms\": " + std::to_string(moment(0).wall_ns / 1'000'000) +
              ", \"duration_ms\": 13000, \"device_util_percent\": 42.5");
  };
  add_job(14);
  EXPECT_EQ(judge().cases[0].rounds[0].ais->train_result_info, "") << "its files are missing";

  const fs::path results = dir() / "case/round1/results";
  fs::create_directories(results);
  std::ofstream(results / "ranksize.json") << 2;
  std::ofstream(results / "throughput_0.json") << 10.5;
  std::ofstream(results / "throughput_1.json") << 11.5;
  std::ofstream(results / "accuracy.json") << 0.75;
  const RunResult result = judge();
  const std::optional<AisRound>& ais = result.cases[0].rounds[0].ais;
  ASSERT_TRUE(ais);
  EXPECT_THAT(ais->train_result_info, HasSubstr("\"throughput_ratio\" : \"22.0\""));
  EXPECT_THAT(ais->train_result_info, HasSubstr("42.5"));
}

TEST_F(JudgeRun, GivesTheSameResultAgainAndElsewhereAndWithAnyNumberOfThreads) {
  create();
  start_round(1);
  write_log(1, 0);
  write_log(1, 1, 7.3);
  end_round(1);
  const RunResult first = judge();
  fs::rename(dir(), root_ / "moved");
  const store::RunDir moved = store::RunDir::open(root_ / "moved");
  const RunResult second = judge_run(moved);
  EXPECT_EQ(first.provenance, second.provenance);
  const RoundResult& a = first.cases[0].rounds[0];
  const RoundResult& b = second.cases[0].rounds[0];
  ASSERT_EQ(a.metrics.size(), b.metrics.size());
  for (std::size_t i = 0; i < a.metrics.size(); ++i) {
    EXPECT_EQ(a.metrics[i].value, b.metrics[i].value);
    EXPECT_EQ(a.metrics[i].note, b.metrics[i].note);
  }
  const RoundJournal journal(store::Journal::read(moved.journal_file()));
  for (const unsigned threads : {1U, 7U}) {
    RoundEvidence evidence = journal.round("case", 1);
    evidence.telemetry_enabled = false;
    load_files(moved, moved.plan().cases[0], evidence, threads);
    const RoundResult c = judge_round(moved.plan().cases[0], evidence);
    for (std::size_t i = 0; i < a.metrics.size(); ++i)
      EXPECT_EQ(a.metrics[i].value, c.metrics[i].value);
  }
}

TEST_F(JudgeRun, TakesTheLastStartOfAResumedRound) {
  create();
  start_round(1, -1000);
  event("rank_exit", -900,
        key(1) + ", \"rank\": 0, \"node\": 0, \"signal\": 9, \"ended_by\": \"lost\"");
  event("run_resume", -1, "\"run\": \"x\"");
  start_round(1);
  write_log(1, 0);
  write_log(1, 1);
  fs::create_directories(dir() / "case/round1.interrupted-1/node0_noderank0");
  end_round(1);
  const RunResult result = judge();
  EXPECT_EQ(result.cases[0].rounds[0].status, RoundStatus::completed);
  EXPECT_NEAR(*metric(result.cases[0].rounds[0], "e2e_time"), 13, 1e-6);
  EXPECT_EQ(result.cases[0].rounds[1].status, RoundStatus::not_run);
  EXPECT_EQ(result.validity, Validity::incomplete);
}

TEST_F(JudgeRun, SaysThatARoundWasRunAgainAfterItFailed) {
  create();
  start_round(1, -1000);
  event("round_end", -900, key(1) + R"(, "status": "failed", "reason": "rank 0")");
  event("round_reopened", -800, key(1) + R"(, "status": "failed")");
  RoundEvidence before =
      RoundJournal(store::Journal::read(dir() / "journal.jsonl")).round("case", 1);
  EXPECT_EQ(before.status, RoundStatus::failed) << "until it has begun";
  start_round(1);
  write_log(1, 0);
  write_log(1, 1);
  end_round(1);
  const RoundEvidence after =
      RoundJournal(store::Journal::read(dir() / "journal.jsonl")).round("case", 1);
  EXPECT_EQ(after.status, RoundStatus::completed);
  EXPECT_EQ(after.earlier_attempts, std::vector{RoundStatus::failed});
  Facts facts;
  (void)judge_round(case_plan(1, 2), after, &facts);
  EXPECT_EQ(facts.at("failed_attempts").value, 1);
}

TEST_F(JudgeRun, SaysHowOftenARoundWasCutOffAndBegunAgain) {
  create();
  start_round(1, -1000);
  event("run_resume", -900, R"("run": "x")");
  start_round(1, -800);
  event("round_end", -750, key(1) + R"(, "status": "lost", "reason": "")");
  start_round(1);
  const RoundEvidence round =
      RoundJournal(store::Journal::read(dir() / "journal.jsonl")).round("case", 1);
  EXPECT_EQ(round.earlier_attempts, (std::vector{RoundStatus::interrupted, RoundStatus::lost}));
  plan::CasePlan plan = case_plan(1, 2);
  Facts facts;
  (void)judge_round(plan, round, &facts);
  EXPECT_EQ(facts.at("failed_attempts").value, 2);
  EXPECT_EQ(facts.at("failed_attempts").detail, "interrupted: 1, lost: 1");
  plan.automl.emplace();
  (void)judge_round(plan, round, &facts);
  EXPECT_EQ(facts.at("failed_attempts").value, 0) << "an experiment goes on where it was";
}

TEST_F(JudgeRun, TakesAJobThatIsFollowedAgainForTheSameAttempt) {
  create();
  const auto begin = [&](const std::string& job) {
    event("round_start", -1, key(1) + R"(, "nodes": [], "job": ")" + job + "\"");
  };
  const auto attempts = [&] {
    return RoundJournal(store::Journal::read(dir() / "journal.jsonl"))
        .round("case", 1)
        .earlier_attempts.size();
  };
  begin("job-a");
  begin("job-a");
  EXPECT_EQ(attempts(), 0U);
  begin("job-b");
  EXPECT_EQ(attempts(), 1U) << "it was made anew";
  event("round_reopened", -1, key(1) + R"(, "status": "failed")");
  begin("job-b");
  EXPECT_EQ(attempts(), 2U);
}

// A rank can write what it likes into the folder of its node.
TEST_F(JudgeRun, DoesNotCountLogsOfRanksThatNoAgentStarted) {
  plan_.cases[0].rules = {rule("logs-known", "logs_foreign", std::nullopt, 0)};
  create();
  start_round(1);
  for (const int rank : {0, 1, 2, 7}) write_log(1, rank);
  fs::copy_file(node_dir(1) / "rank0.out.log", node_dir(1) / "rank00.out.log");
  fs::copy_file(node_dir(1) / "rank0.out.log", node_dir(1) / "rank99999999999.out.log");
  end_round(1);
  const RoundResult round = judge().cases[0].rounds[0];
  EXPECT_THAT(round.ranks, SizeIs(2));
  EXPECT_NEAR(*metric(round, "p_whole"), 640, 1e-6);
  EXPECT_EQ(round.validity, Validity::invalid);
  ASSERT_NE(finding(round.findings, "logs-known"), nullptr);
  EXPECT_THAT(finding(round.findings, "logs-known")->reason,
              HasSubstr("case/round1/node0_noderank0/rank00.out.log, "
                        "case/round1/node0_noderank0/rank2.out.log, "));
}

TEST_F(JudgeRun, DoesNotCountALogOnAnotherNodeThanItsRank) {
  plan_.cases = {case_plan(2, 1)};
  create();
  event("round_start", -0.1,
        key(1) + R"(, "nodes": [{"node": 0, "host": "node0"}, {"node": 1, "host": "node1"}])");
  for (const char* node : {"0", "1"})
    event("rank_start", 0,
          key(1) + ", \"rank\": " + node + ", \"node\": " + node + ", \"host\": \"node" + node +
              "\"");
  write_log(1, 0);
  write_log(1, 1);  // on node 0, where rank 1 does not run
  const store::RunDir run = store::RunDir::open(dir());
  RoundEvidence round =
      RoundJournal(store::Journal::read(dir() / "journal.jsonl")).round("case", 1);
  round.status = RoundStatus::completed;
  load_files(run, plan_.cases[0], round, 1);
  EXPECT_EQ(round.foreign_logs,
            std::vector<std::string>{"case/round1/node0_noderank0/rank1.out.log"});
  ASSERT_THAT(round.ranks, SizeIs(2));
  EXPECT_FALSE(round.ranks[1].log.found);
}

TEST_F(JudgeRun, OfARoundThatWasCutOffReadsLogsOfPlannedRanksThatTheJournalLacks) {
  create();
  event("round_start", -0.1, key(1) + R"(, "nodes": [{"node": 0, "host": "node0"}])");
  for (const int rank : {1, 2}) write_log(1, rank);
  const store::RunDir run = store::RunDir::open(dir());
  RoundEvidence round =
      RoundJournal(store::Journal::read(dir() / "journal.jsonl")).round("case", 1);
  load_files(run, plan_.cases[0], round, 1);
  ASSERT_THAT(round.ranks, SizeIs(1));
  EXPECT_EQ(round.ranks[0].rank, 1);
  EXPECT_THAT(round.foreign_logs, SizeIs(1)) << "the plan has two ranks";
}

TEST_F(JudgeRun, OfARoundWithoutEndIsInterrupted) {
  create();
  start_round(1);
  write_log(1, 0);
  const RunResult result = judge();
  const RoundResult& round = result.cases[0].rounds[0];
  EXPECT_EQ(round.status, RoundStatus::interrupted);
  EXPECT_EQ(round.validity, Validity::incomplete);
  EXPECT_FALSE(metric(round, "e2e_time"));
  EXPECT_TRUE(metric(round, "p_whole"));
}

TEST_F(JudgeRun, ARoundOfARunThatMayGoOnIsNotCalledInterrupted) {
  create();
  start_round(1);
  EXPECT_THAT(judge().cases[0].rounds[0].findings.at(0).reason, HasSubstr("still runs"));
  event("run_end", 30, R"("status":"interrupted")");
  EXPECT_THAT(judge().cases[0].rounds[0].findings.at(0).reason, HasSubstr("was interrupted"));
}

TEST_F(JudgeRun, SurvivesATornJournalAndForeignTypesInIt) {
  create();
  start_round(1);
  write_log(1, 0);
  write_log(1, 1);
  end_round(1);
  journal("{\"event\": \"rank_exit\", \"case\": 5, \"round\": \"x\", \"rank\": []}\n");
  journal("{\"event\": \"rank_start\", \"case\": \"case\", \"round\": 1e30, \"rank\": -4}\n");
  journal("[1, 2]\nnull\n{\"event\": \"round_e");
  const RunResult result = judge();
  EXPECT_EQ(result.cases[0].rounds[0].status, RoundStatus::completed);
  ASSERT_NE(finding(result.findings, "journal-readable"), nullptr);
  EXPECT_THAT(finding(result.findings, "journal-readable")->reason,
              HasSubstr("2 lines of journal.jsonl cannot be read, the first is line 10"));
  ASSERT_NE(finding(result.findings, "journal-torn"), nullptr);
  EXPECT_EQ(finding(result.findings, "journal-torn")->severity, Severity::note);
}

TEST_F(JudgeRun, IsIncompleteAndSaysWhyWhileItGoesOn) {
  plan_.cases[0].repeats = 1;
  create();
  start_round(1);
  write_log(1, 0);
  write_log(1, 1);
  end_round(1);
  std::ofstream(dir() / "system.json") << R"({"nodes": []})";
  const RunResult result = judge();
  EXPECT_EQ(result.cases[0].validity, Validity::valid) << "the round is complete";
  EXPECT_EQ(result.validity, Validity::incomplete);
  ASSERT_THAT(result.findings, SizeIs(1)) << "and nothing else is wrong";
  EXPECT_EQ(result.findings[0].rule, "run-ended");
  EXPECT_THAT(result.findings[0].reason, HasSubstr("still goes on"));
}

TEST_F(JudgeRun, HasTheRoundsOfACaseThatIsRepeatedUntilItsResultIsCertain) {
  plan_.cases[0].repeats = 20;
  plan_.cases[0].until = plan::RepeatUntil{0.02, 3};
  plan_.cases[0].warmup_rounds = 1;
  create();
  for (int round = 1; round <= 4; ++round) {
    start_round(round);
    write_log(round, 0, round == 1 ? 3 : 32);
    write_log(round, 1, round == 1 ? 3 : 32);
    end_round(round);
  }
  const RepeatState state = repeats_so_far(store::RunDir::open(dir()), plan_.cases[0]);
  EXPECT_TRUE(state.enough) << state.why;
  EXPECT_THAT(state.why, HasSubstr("after 3 rounds"));
  journal(R"({"event": "repeats_end", "case": "case", "rounds": 3, "reason": "it is certain"})"
          "\n");
  const CaseResult one = judge().cases[0];
  EXPECT_THAT(one.rounds, SizeIs(3));
  EXPECT_EQ(one.rounds[0].round, 2);
  EXPECT_THAT(one.warmup_rounds, SizeIs(1));
  EXPECT_EQ(one.repeats_ended, "it is certain");
  EXPECT_EQ(one.validity, Validity::valid);
}

TEST_F(JudgeRun, MissesTheFewestRoundsOfSuchACase) {
  plan_.cases[0].repeats = 20;
  plan_.cases[0].until = plan::RepeatUntil{0.02, 3};
  create();
  start_round(1);
  write_log(1, 0);
  write_log(1, 1);
  end_round(1);
  const CaseResult one = judge().cases[0];
  ASSERT_THAT(one.rounds, SizeIs(3));
  EXPECT_EQ(one.rounds[2].status, RoundStatus::not_run);
  EXPECT_EQ(one.validity, Validity::incomplete);
}

TEST_F(JudgeRun, ReadsTheRotatedPartsOfALogInOrder) {
  create();
  start_round(1);
  write_log(1, 0);
  write_log(1, 1);
  const fs::path log = node_dir(1) / "rank0.out.log";
  const std::string whole = read_file(log);
  const std::size_t cut = whole.find("\"step\": 50,") + 4;  // inside a line
  std::ofstream(log.string() + ".head") << whole.substr(0, cut);
  std::ofstream(log, std::ios::trunc) << whole.substr(cut);
  end_round(1);
  const RoundResult round = judge().cases[0].rounds[0];
  EXPECT_EQ(round.ranks[0].steps, 100);
  EXPECT_NEAR(*metric(round, "samples"), (100 + 100) * 32, 1e-6);
  EXPECT_NEAR(*metric(round, "train_time"), 10, 1e-6);
}

TEST_F(JudgeRun, SaysWhichLogIsMissing) {
  plan_.cases[0].rules = {rule("logs-present", "logs_missing", std::nullopt, 0)};
  create();
  start_round(1);
  write_log(1, 0);
  end_round(1);
  const RoundResult round = judge().cases[0].rounds[0];
  ASSERT_NE(finding(round.findings, "logs-present"), nullptr);
  EXPECT_THAT(finding(round.findings, "logs-present")->reason, HasSubstr("rank 1"));
}

TEST_F(JudgeRun, ShowsTheSystemWhenItIsKnown) {
  create();
  start_round(1);
  EXPECT_TRUE(judge_run(store::RunDir::open(dir())).system.empty());
  std::ofstream(dir() / "system.json") << R"({"nodes": [{"host": "node0"}]})";
  EXPECT_EQ(judge().system["nodes"][0]["host"], "node0");
}

TEST_F(JudgeRun, SaysThatTheSystemIsDamagedOrMissing) {
  create();
  start_round(1);
  const auto said = [&] {
    const RunResult result = judge();
    EXPECT_TRUE(result.system.empty());
    const Finding* problem = finding(result.findings, "system-known");
    return problem == nullptr ? "" : problem->reason;
  };
  EXPECT_THAT(said(), HasSubstr("system.json is missing"));
  std::ofstream(dir() / "system.json", std::ios::trunc) << "{\"nodes\": [";
  EXPECT_THAT(said(), HasSubstr("system.json is damaged"));
  fs::remove(dir() / "system.json");
  fs::create_directory(dir() / "system.json");
  EXPECT_THAT(said(), HasSubstr("system.json cannot be read"));
}

TEST_F(JudgeRun, ReadsTelemetryOfTheNode) {
  plan_.telemetry.enabled = true;
  create();
  start_round(1);
  write_log(1, 0);
  write_log(1, 1);
  std::ofstream csv(node_dir(1) / "telemetry.csv");
  csv << "mono_ns,wall_ns,source,util,mem_used_bytes,mem_total_bytes,power_w,energy_j,temp_c,"
         "clock_mhz,mem_clock_mhz,throttle,ecc_errors,disk_read_bps,disk_write_bps,net_rx_bps,"
         "net_tx_bps\n";
  for (int t = 0; t <= 13; ++t) {
    csv << moment(t).mono_ns << ',' << moment(t).wall_ns << ",node,0.5,1000,2000,,,,,,,,,,,\n";
    csv << moment(t).mono_ns << ',' << moment(t).wall_ns << ",ipmi,,,,150,,,,,,,,,,\n";
  }
  csv << moment(14).mono_ns;  // torn
  csv.close();
  end_round(1);
  const RoundResult round = judge().cases[0].rounds[0];
  EXPECT_NEAR(*metric(round, "energy_j"), 1500, 1e-6);
  EXPECT_NEAR(*metric(round, "cpu_util"), 0.5, 1e-9);
  EXPECT_EQ(*metric(round, "mem_peak_bytes"), 1000);
}

}  // namespace
}  // namespace assay::judge
