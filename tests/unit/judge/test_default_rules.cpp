#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "core/files.h"
#include "judge/rules.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using telemetry::Column;
using ::testing::IsEmpty;

std::vector<catalog::Rule> default_rules() {
  return catalog::load_rules(std::string(ASSAY_SOURCE_DIR) + "/conf/rules/default.yaml",
                             "conf/rules/default.yaml");
}

struct Situation {
  plan::CasePlan plan;
  RoundEvidence round;
};

// Two ranks on one node with devices, telemetry, a target that is met: nothing to complain about.
Situation sane() {
  Situation s{case_plan(1, 2), {}};
  s.plan.rules = default_rules();
  s.plan.target = plan::Target{"acc", 0.9, Better::higher};
  s.plan.peak_flops = 1e12;
  s.plan.metrics = {{"rate", "x", "1", Better::higher, "last", "mean"}};
  std::vector<RankEvidence> ranks{constant_rank(0, {.flops = 1e10}),
                                  constant_rank(1, {.flops = 1e10})};
  for (RankEvidence& rank : ranks) {
    rank.log.evaluations = {{stamp(11.9), 0.2, {{"eval_acc", 0.95}}}};
    rank.log.outputs = {{5}};
    rank.log.finished = perflog::FinishedSummary{};
    rank.log.finished->p_whole = 640;
  }
  s.round = round_of(std::move(ranks));
  s.round.telemetry_enabled = true;
  for (int t = 0; t <= 13; ++t) {
    add_row(s.round.nodes[0], t, "node", {{Column::util, 0.5}, {Column::mem_used_bytes, 1e9}});
    add_row(s.round.nodes[0], t, "dev0",
            {{Column::throttle, 0}, {Column::ecc_errors, 2}, {Column::power_w, 100}});
  }
  return s;
}

// An experiment of 100 s that was asked for, which ran for `elapsed_s`.
Experiment experiment(std::optional<double> accuracy, const std::string& precision = "fp32",
                      double elapsed_s = 100) {
  std::vector<Json> events{
      {{"event", "experiment"},
       {"at_s", 0},
       {"settings", {{"precision", precision}, {"min_duration_ns", 100'000'000'000}}}},
      {{"event", "proposed"}, {"at_s", 1}, {"trial", 0}, {"per_sample", {{"aiperf_train", 10}}}},
      {{"event", "started"}, {"at_s", 1}, {"trial", 0}, {"attempt", 1}, {"worker", 0}}};
  if (accuracy)
    events.push_back({{"event", "epoch"},
                      {"at_s", 50},
                      {"trial", 0},
                      {"epoch", 1},
                      {"accuracy", *accuracy},
                      {"trained", 1000},
                      {"validated", 100}});
  events.push_back({{"event", "end"}, {"at_s", elapsed_s}, {"reason", "time"}});
  return {automl::record_of(events), automl::timeline_of(events)};
}

// A workload that uses set_result; everything was measured.
AisEvidence reported(const std::vector<std::pair<std::string, std::string>>& calls) {
  AisEvidence ais;
  for (const auto& [key, value] : calls)
    ais.reported.calls.push_back({1, 1, "training", key, value});
  ais.prepare = ais.dataload = ais.proc = ais.total = {1, 2};
  return ais;
}

using Break = std::function<void(Situation&)>;

// The machine as its agent saw it for ten seconds, on four CPUs.
Break machine(const std::function<void(telemetry::MachineUse&)>& change) {
  return [change](Situation& s) {
    telemetry::MachineUse use;
    use.cpus = 4;
    use.ranks = 2;
    use.seconds = 10;
    change(use);
    s.round.nodes[0].machine = std::move(use);
  };
}

std::vector<telemetry::MachineUse::OtherRun> runs(double seconds) {
  return {{"run1", "ann", seconds}};
}

// No steps, a throughput in FINISHED alone, of ranks that lived for so long.
void report_only(Situation& s, double seconds) {
  for (RankEvidence& rank : s.round.ranks) {
    RankLog log;
    log.found = true;
    log.events = 1;
    log.outputs = {{5}};
    log.finished = perflog::FinishedSummary{};
    log.finished->p_whole = 1e12;
    log.finished->train_time_s = 100;
    rank.log = std::move(log);
    rank.end = moment(seconds);
  }
}

void stall(Situation& s, double seconds) {
  for (RankEvidence& rank : s.round.ranks) {
    move_times(rank.log, 6, seconds);
    rank.end = moment(30);
  }
}

// What each rule of a round is there for.
const std::map<std::string, Break>& faults() {
  static const std::map<std::string, Break> kFaults{
      {"automl-measured", [](auto& s) { s.round.automl = experiment(std::nullopt); }},
      {"automl-journal",
       [](auto& s) {
         s.round.automl_check.emplace();
         s.round.automl_check->missing.add("its end");
       }},
      {"automl-reports",
       [](auto& s) {
         s.round.automl_check.emplace();
         s.round.automl_check->wrong.add("rank 99 of 2 workers");
       }},
      {"automl-accuracy", [](auto& s) { s.round.automl = experiment(0.64); }},
      {"automl-precision", [](auto& s) { s.round.automl = experiment(0.9, "int8"); }},
      {"automl-run-time", [](auto& s) { s.round.automl = experiment(0.9, "fp32", 99); }},
      {"automl-short-run", [](auto& s) { s.round.automl = experiment(0.9); }},
      {"automl-hour", [](auto& s) { s.round.automl = experiment(0.9); }},
      {"automl-workers-kept",
       [](auto& s) {
         s.round.automl = experiment(0.9);
         s.round.automl->record.workers.push_back(
             {1, "n2", "cpu", 0, 20.5, "nothing was heard of it for 10 s"});
       }},
      {"automl-resumed",
       [](auto& s) {
         s.round.automl = experiment(0.9);
         s.round.automl->record.resumed = 1;
       }},
      {"automl-weights-kept",
       [](auto& s) {
         s.round.automl = experiment(0.9);
         s.round.automl->record.weights_lost.push_back({3, "No space left on device", 20});
       }},
      {"automl-ceiling",
       [](auto& s) {
         s.round.automl = experiment(0.9);
         s.round.automl->record.ceiling_s = 30;
       }},
      {"automl-idle",
       [](auto& s) {
         s.round.automl = experiment(0.9);
         s.round.automl->record.wait_share = 0.02;
       }},
      {"ais-results", [](auto& s) { s.round.ais = reported({}); }},
      {"ais-result-stated",
       [](auto& s) {
         s.round.ais = reported({{"throughput_ratio", "10"}, {"accuracy", "0.7"}});
       }},
      {"ais-values-agree",
       [](auto& s) {
         s.round.ais = reported({{"throughput_ratio", "10"},
                                 {"throughput_ratio", "11"},
                                 {"accuracy", "0.7"},
                                 {"result", "OK"}});
       }},
      {"ais-lines-readable",
       [](auto& s) {
         s.round.ais =
             reported({{"throughput_ratio", "10"}, {"accuracy", "0.7"}, {"result", "OK"}});
         s.round.ais->reported.unreadable = 1;
       }},
      {"ais-measured",
       [](auto& s) {
         s.round.ais =
             reported({{"throughput_ratio", "10"}, {"accuracy", "0.7"}, {"result", "OK"}});
         s.round.ais->dataload = {};
       }},
      {"ranks-ended-ok",
       [](auto& s) {
         s.round.ranks[1].exit = ExitStatus{3, std::nullopt};
       }},
      {"ranks-accounted-for",
       [](auto& s) {
         s.round.ranks[1].exit.reset();
         s.round.ranks[1].ended_by = EndedBy::lost;
       }},
      {"all-ranks-started", [](auto& s) { s.plan.procs = 3; }},
      {"evidence-listed", [](auto& s) { s.round.integrity = {}; }},
      {"evidence-there", [](auto& s) { s.round.integrity.missing = {"x: is gone"}; }},
      {"evidence-unchanged", [](auto& s) { s.round.integrity.changed = {"x: is shorter"}; }},
      {"evidence-known", [](auto& s) { s.round.integrity.unlisted = {"x: nobody knows it"}; }},
      {"evidence-chained", [](auto& s) { s.round.integrity.broken = {"x:3: does not fit"}; }},
      {"evidence-readable", [](auto& s) { s.round.problems = {"x: cannot be read"}; }},
      {"logs-present",
       [](auto& s) {
         s.round.ranks[1].log = {};
         s.round.ranks[1].log.outputs = {{5}};
       }},
      {"complete-logs", [](auto& s) { s.round.ranks[1].log.truncated = true; }},
      {"well-formed-logs", [](auto& s) { s.round.ranks[1].log.malformed_lines = 4; }},
      {"logs-written",
       [](auto& s) {
         s.round.gaps = {{0, "rank1.out.log", 0, "No space left on device"}};
       }},
      {"metrics-offered",
       [](auto& s) {
         s.round.gaps = {{0, "prometheus", 0, "cannot listen on 127.0.0.1:9400"}};
       }},
      {"dropped-output", [](auto& s) { s.round.ranks[1].dropped_bytes = 1 << 20; }},
      {"perflog-present",
       [](auto& s) {
         s.round.ranks[1].log = {};
         s.round.ranks[1].log.found = true;
       }},
      {"training-ended",
       [](auto& s) {
         s.round.ranks[1].log.train_end = {};
         audit(s.round.ranks[1].log);
       }},
      {"equal-steps", [](auto& s) { s.round.ranks[1] = constant_rank(1, {.steps = 25}); }},
      {"logs-whole", [](auto& s) { s.round.ranks[1].output_bytes = 100; }},
      {"steps-logged",
       [](auto& s) {
         s.round.ranks[1].output_bytes = 0;
         s.round.ranks[1].seen_steps = 101;
       }},
      {"times-within-run", [](auto& s) { move_times(s.round.ranks[1].log, 7, 3600); }},
      {"rank-clocks-agree", [](auto& s) { s.round.ranks[1].log.audit.clocks_apart_s = 2; }},
      {"times-checked", [](auto& s) { s.round.supervised = false; }},
      {"no-repeated-events", [](auto& s) { s.round.ranks[1].log.audit.repeated = 1; }},
      {"times-rise", [](auto& s) { s.round.ranks[1].log.audit.back_s = 1; }},
      {"times-not-squeezed",
       [](auto& s) {
         s.round.ranks[1].log.audit.by_mono.came_in_s = 10;
         s.round.ranks[1].log.audit.by_mono.said_in_s = 5;
       }},
      {"steps-differ",
       [](auto& s) {
         s.round.ranks[1].log.audit.lengths = s.round.ranks[1].log.audit.lengths_alike = 98;
       }},
      {"pauses-leave-steps",
       [](auto& s) {
         for (auto& rank : s.round.ranks)
           for (int i = 1; i <= 100; ++i)
             rank.log.phases.push_back({TimePart::checkpoint, stamp(2 + 0.1 * i), 0.095});
       }},
      {"pauses-fit", [](auto& s) { s.round.ranks[1].log.audit.pause_excess_s = 1; }},
      {"counts-possible", [](auto& s) { s.round.ranks[1].log.audit.impossible_counts = 1; }},
      {"throughput-measured", [](auto& s) { report_only(s, 5); }},
      {"throughput-long-enough", [](auto& s) { report_only(s, 0.4); }},
      {"output-metrics-whole", [](auto& s) { s.round.ranks[1].dropped_bytes = 1; }},
      {"output-metrics-ended", [](auto& s) { s.round.ranks[1].output_held = true; }},
      {"min-command-time",
       [](auto& s) {
         for (auto& rank : s.round.ranks) {
           rank.log.events = 0;
           rank.end = Instant{rank.start->mono_ns + 25'000'000, rank.start->wall_ns + 25'000'000};
         }
       }},
      {"counters-rise", [](auto& s) { s.round.ranks[1].log.audit.counters_back = 1; }},
      {"accuracy-in-range",
       [](auto& s) { s.round.ranks[1].log.evaluations[0].values[0].second = 1.5; }},
      {"samples-fit-data",
       [](auto& s) {
         s.round.ranks[0].log.finished_values.emplace_back("train_samples", 640);
         s.round.ranks[1].log.finished_values.emplace_back("train_samples", 6400);
       }},
      {"plausible-peak", [](auto& s) { s.round.ranks[1].log.finished->peak_flops = 1e10; }},
      {"devices-worked",
       [](auto& s) {
         for (int t = 0; t <= 13; ++t) add_row(s.round.nodes[0], t, "dev0", {{Column::util, 0}});
       }},
      {"output-metrics-found",
       [](auto& s) {
         for (auto& rank : s.round.ranks) rank.log.outputs = {{}};
       }},
      {"output-metrics-readable",
       [](auto& s) { s.round.ranks[0].log.outputs[0].add_unreadable(3, "1,5"); }},
      {"output-metrics-shown",
       [](auto& s) {
         s.plan.metrics.push_back({"p_whole", "x", "1", Better::higher, "last", "mean"});
         for (auto& rank : s.round.ranks) rank.log.outputs.push_back({7});
       }},
      {"first-attempt", [](auto& s) { s.round.earlier_attempts = {RoundStatus::failed}; }},
      {"nodes-used", [](auto& s) { s.round.nodes[0].seen_processes = 0; }},
      {"logs-known", [](auto& s) { s.round.foreign_logs = {"case/round1/n/rank7.out.log"}; }},
      {"min-steps",
       [](auto& s) {
         for (auto& rank : s.round.ranks) rank = constant_rank(rank.rank, {.steps = 9});
       }},
      {"min-duration",
       [](auto& s) {
         for (auto& rank : s.round.ranks) rank = constant_rank(rank.rank, {.step_s = 0.004});
       }},
      {"steady-steps",
       [](auto& s) {
         for (auto& rank : s.round.ranks) rank = constant_rank(rank.rank, {.steps = 10});
       }},
      {"stalls-seen", [](auto& s) { stall(s, 0.5); }},
      {"stalls", [](auto& s) { stall(s, 5); }},
      {"finite-loss", [](auto& s) { s.round.ranks[0].log.nonfinite_losses = 1; }},
      {"converged", [](auto& s) { s.plan.target->value = 0.99; }},
      {"no-throttling",
       [](auto& s) {
         add_row(s.round.nodes[0], 6.5, "dev0", {{Column::throttle, 1}});
       }},
      {"no-ecc-errors",
       [](auto& s) {
         add_row(s.round.nodes[0], 13.5, "dev0", {{Column::ecc_errors, 3}});
       }},
      {"stragglers",
       [](auto& s) { s.round.ranks[1] = constant_rank(1, {.steps = 100, .step_s = 0.15}); }},
      {"no-leftovers", [](auto& s) { s.round.nodes[0].killed_leftovers = 2; }},
      {"caches-dropped",
       [](auto& s) {
         s.plan.drop_caches = true;
         s.round.nodes[0].caches_dropped = false;
         s.round.nodes[0].caches_how = "Permission denied";
       }},
      {"ranks-bound",
       [](auto& s) {
         s.plan.bind.mode = BindMode::cores;
         for (auto& rank : s.round.ranks) rank.bound = CpuSet({0});
         s.round.ranks[1].ran_on = CpuSet({0, 3});
       }},
      {"machine-watched", [](auto& s) { s.round.nodes[0].agent_cpu_s = 0.1; }},
      {"cpu-shared", machine([](auto& use) { use.busy_s = 5; })},
      {"cpu-taken", machine([](auto& use) { use.busy_s = 11; })},
      {"load-before-seen", machine([](auto& use) { use.load = use.runnable = 3; })},
      {"load-before", machine([](auto& use) { use.load = use.runnable = 6; })},
      {"other-runs-seen", machine([](auto& use) { use.other_runs = runs(0.2); })},
      {"other-runs", machine([](auto& use) { use.other_runs = runs(2); })},
      {"devices-alone", machine([](auto& use) {
         use.device_users = std::vector<telemetry::MachineUse::DeviceUser>{{0, "python", "ann", 7}};
       })},
      {"steal-seen", machine([](auto& use) { use.steal_s = 2; })},
      {"steal", machine([](auto& use) { use.steal_s = 5; })},
      {"memory-pressure-seen", machine([](auto& use) { use.memory_stalled_s = 0.2; })},
      {"memory-pressure", machine([](auto& use) { use.memory_stalled_s = 2; })},
      {"swapping-seen", machine([](auto& use) { use.swapped_bytes = 2'000'000; })},
      {"swapping", machine([](auto& use) { use.swapped_bytes = 200'000'000; })},
      {"cpu-throttling-seen", machine([](auto& use) { use.throttled_s = 0.2; })},
      {"cpu-throttling", machine([](auto& use) { use.throttled_s = 3; })},
      {"clock-jumps",
       [](auto& s) {
         for (auto& rank : s.round.ranks) {
           rank = constant_rank(rank.rank, {.monotonic = false});
           rank.log.clock_jump_s = 2;
         }
       }},
      {"clock-steps-seen", [](auto& s) { s.round.ranks[0].log.clock_jump_s = 2; }},
      {"clock-skew",
       [](auto& s) {
         s.round.one_clock = false;
         s.round.nodes[0].clock_behind_s = -3600;
       }},
      {"telemetry-present", [](auto& s) { s.round.nodes[0].telemetry = {}; }},
      {"telemetry-possible",
       [](auto& s) {
         s.round.nodes[0].telemetry.impossible_values = 1;
         s.round.nodes[0].telemetry.first_impossible = "power_w of dev0 is -100";
       }},
      {"telemetry-gaps",
       [](auto& s) {
         for (auto& rank : s.round.ranks) rank.end = moment(40);
       }},
      {"energy-covered",
       [](auto& s) {
         s.round.nodes[0].telemetry = {};
         add_row(s.round.nodes[0], 12, "dev0", {{Column::power_w, 100}});
       }},
      {"energy-agrees",
       [](auto& s) {
         for (auto& rank : s.round.ranks) rank = constant_rank(rank.rank, {.step_s = 0.4});
         for (int t = 0; t <= 43; ++t)
           add_row(s.round.nodes[0], t, "dev1",
                   {{Column::power_w, 100}, {Column::energy_j, 106.0 * t}});
       }},
      {"plausible-mfu", [](auto& s) { s.plan.peak_flops = 1e10; }},
      {"reported-mismatch", [](auto& s) { s.round.ranks[0].log.finished->p_whole = 700; }},
      {"train-restarts", [](auto& s) { s.round.ranks[0].log.restarts = 1; }},
  };
  return kFaults;
}

TEST(DefaultRules, CanAllWork) {
  EXPECT_NO_THROW(catalog::check_rules(default_rules()));
}

TEST(DefaultRules, AreContentWithCachesThatWereDropped) {
  Situation s = sane();
  s.plan.drop_caches = true;
  s.round.nodes[0].caches_dropped = true;
  EXPECT_EQ(finding(judge_round(s.plan, s.round).findings, "caches-dropped"), nullptr);
}

TEST(DefaultRules, NameTheNodeThatKeptItsCachesAndWhy) {
  Situation s = sane();
  s.plan.drop_caches = true;
  s.round.nodes[0].host = "n1";
  s.round.nodes[0].caches_dropped = false;
  s.round.nodes[0].caches_how = "Permission denied";
  const RoundResult round = judge_round(s.plan, s.round);
  const Finding* found = finding(round.findings, "caches-dropped");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, Severity::warning);
  EXPECT_THAT(found->reason, ::testing::HasSubstr("n1: Permission denied"));
}

TEST(DefaultRules, FindNothingWrongWithASaneRound) {
  const Situation s = sane();
  const RoundResult round = judge_round(s.plan, s.round);
  for (const Finding& f : round.findings) ADD_FAILURE() << f.rule << ": " << f.reason;
  EXPECT_EQ(round.validity, Validity::valid);
}

TEST(DefaultRules, EachOfARoundHasAFaultThatItFinds) {
  std::set<std::string> rules;
  for (const catalog::Rule& r : default_rules())
    if (r.scope == catalog::RuleScope::round) rules.insert(r.id);
  for (const auto& [id, break_it] : faults()) {
    ASSERT_EQ(rules.erase(id), 1U) << id;
    Situation s = sane();
    break_it(s);
    const RoundResult round = judge_round(s.plan, s.round);
    const Finding* f = finding(round.findings, id);
    ASSERT_NE(f, nullptr) << id;
    EXPECT_FALSE(f->advice.empty()) << id;
    EXPECT_EQ(f->reason.find('{'), std::string::npos) << f->reason;
    EXPECT_EQ(f->reason.find("()"), std::string::npos) << f->reason;
    if (f->severity == Severity::invalid) {
      EXPECT_EQ(round.validity, Validity::invalid) << id;
    }
    if (f->severity == Severity::incomplete) {
      EXPECT_NE(round.validity, Validity::valid) << id;
    }
  }
  EXPECT_THAT(rules, IsEmpty());
}

TEST(DefaultRules, AreRequiredWhereTheirFactIsAlwaysKnown) {
  const std::string text = read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/rules.md");
  const auto always = [&](const std::string& fact) {
    const auto row = text.find("\n| `" + fact + "` |");
    return row != std::string::npos &&
           text.substr(row + 1, text.find('\n', row + 1) - row).find("| always |") !=
               std::string::npos;
  };
  for (const catalog::Rule& r : default_rules())
    if (always(r.fact)) {
      EXPECT_TRUE(r.required) << r.id;
    }
}

TEST(DefaultRules, StateTheirAspect) {
  const std::string text = read_file(std::string(ASSAY_SOURCE_DIR) + "/conf/rules/default.yaml");
  std::size_t stated = 0;
  for (auto at = text.find("\n    aspect: "); at != std::string::npos;
       at = text.find("\n    aspect: ", at + 1))
    ++stated;
  EXPECT_EQ(stated, default_rules().size());
}

TEST(DefaultRules, GiveAnExperimentItsScore) {
  Situation s = sane();
  s.plan.automl.emplace();
  s.round.automl = experiment(0.9);
  const RoundResult round = judge_round(s.plan, s.round);
  EXPECT_EQ(round.validity, Validity::valid);
  const auto score =
      std::ranges::find(round.metrics, "automl_score", [](const Metric& m) { return m.info.name; });
  ASSERT_NE(score, round.metrics.end());
  EXPECT_NEAR(score->value, 1000 * 10 / 100.0 * -std::log(0.1), 1e-9);
  EXPECT_EQ(summarize_case(s.plan, {round}).headline, "automl_score");
}

TEST(DefaultRules, LetAShortRoundBeValid) {
  auto plan = case_plan(1, 2);
  plan.rules = default_rules();
  RoundEvidence round =
      round_of({constant_rank(0, {.train_start = 0.01, .steps = 100, .step_s = 0.01}),
                constant_rank(1, {.train_start = 0.01, .steps = 100, .step_s = 0.01})});
  round.telemetry_enabled = true;
  for (const double t : {0.0, 1.0, 2.0}) add_row(round.nodes[0], t, "node", {{Column::util, 0.5}});
  const RoundResult result = judge_round(plan, round);
  for (const Finding& f : result.findings) ADD_FAILURE() << f.rule << ": " << f.reason;
  EXPECT_EQ(result.validity, Validity::valid);
}

TEST(DefaultRules, SayNothingSillyAboutACommandWithoutPerfLog) {
  auto plan = case_plan(1, 1, 1);
  plan.rules = default_rules();
  RankEvidence rank = constant_rank(0, {.exit_s = 0.02});
  rank.log = {};
  rank.log.found = true;
  RoundEvidence round = round_of({rank});
  const RoundResult result = judge_round(plan, round);
  EXPECT_THAT(result.findings, IsEmpty());
  const CaseResult all = summarize_case(plan, {result});
  EXPECT_EQ(all.validity, Validity::valid);
  EXPECT_EQ(all.headline, "e2e_time");
}

TEST(DefaultRules, NeverCallAHeadlineOfNothingValid) {
  auto plan = case_plan(1, 1, 1);
  plan.rules = default_rules();
  plan.metrics = {{"speed", "x", "1", Better::higher, "last", "mean"}};
  for (const double speed : {0.0, -5.0}) {
    RankEvidence rank = constant_rank(0, {.exit_s = 0.02});
    rank.log = {};
    rank.log.found = true;
    rank.log.outputs = {{speed}};
    const CaseResult all = summarize_case(plan, {judge_round(plan, round_of({rank}))});
    EXPECT_EQ(all.headline, "speed");
    EXPECT_EQ(all.validity, Validity::invalid) << speed;
  }
}

TEST(DefaultRules, MakeACaseIncompleteWhenARoundIsMissing) {
  auto plan = case_plan(1, 1, 2);
  plan.rules = default_rules();
  RoundEvidence missing;
  missing.round = 2;
  const CaseResult result = summarize_case(
      plan, {judge_round(plan, round_of({constant_rank(0)})), judge_round(plan, missing)});
  EXPECT_EQ(result.validity, Validity::incomplete);
  ASSERT_NE(finding(result.findings, "rounds-completed"), nullptr);
  EXPECT_EQ(finding(result.findings, "rounds-completed")->reason, "only 1 of 2 rounds completed");
}

}  // namespace
}  // namespace assay::judge
