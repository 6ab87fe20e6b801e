#include <map>

#include <gmock/gmock.h>

#include "core/json.h"
#include "core/text.h"
#include "demo.h"
#include "golden.h"
#include "report/mllog.h"

namespace assay::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MllogContext full_context() {
  MllogContext context;
  context.org = "acme";
  context.config = {{"global_batch_size", 256}, {"seed", 1234},       {"train_samples", 50000},
                    {"eval_samples", 10000},    {"optimizer", "sgd"}, {"learning_rate", 0.1},
                    {"max_steps", 1200},        {"opt_momentum", 0.9}};
  context.file = "mllog/null_round1.txt";
  return context;
}

// What the official checker asks of a line and of a log, written down once more and independently.
std::vector<Json> parse_mllog(const std::string& text) {
  std::vector<Json> events;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    EXPECT_TRUE(line.starts_with(":::MLLOG {\"namespace\": \"\", \"time_ms\": ")) << line;
    Json event = parse_json(line.substr(9), "mllog");
    std::vector<std::string> keys;
    for (const auto& item : event.items()) keys.push_back(item.key());
    EXPECT_THAT(keys,
                ElementsAre("namespace", "time_ms", "event_type", "key", "value", "metadata"));
    EXPECT_TRUE(event["time_ms"].is_number_integer());
    EXPECT_TRUE(event["metadata"].contains("file") && event["metadata"].contains("lineno"));
    events.push_back(std::move(event));
  }
  return events;
}

void check_log(const std::vector<Json>& events) {
  std::map<std::string, int> counts;
  std::map<std::string, std::size_t> first;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto key = events[i]["key"].get<std::string>();
    ++counts[key];
    first.try_emplace(key, i);
    EXPECT_GE(events[i]["time_ms"].get<std::int64_t>(), last) << key;
    last = events[i]["time_ms"].get<std::int64_t>();
    const bool starts = key.ends_with("_start");
    const bool stops = key.ends_with("_stop");
    EXPECT_EQ(events[i]["event_type"], starts  ? "INTERVAL_START"
                                       : stops ? "INTERVAL_END"
                                               : "POINT_IN_TIME");
    EXPECT_EQ(events[i]["metadata"]["lineno"], i + 1);
  }
  for (const char* key : {"submission_org", "submission_platform", "submission_division",
                          "init_stop", "run_start", "run_stop", "train_samples", "eval_samples"})
    EXPECT_EQ(counts[key], 1) << key;
  for (const char* key :
       {"cache_clear", "init_start", "eval_accuracy", "block_start", "block_stop"})
    EXPECT_GE(counts[key], 1) << key;
  EXPECT_EQ(counts["block_start"], counts["block_stop"]);
  EXPECT_EQ(counts["eval_start"], counts["eval_stop"]);
  EXPECT_LT(first["init_start"], first["init_stop"]);
  EXPECT_LT(first["init_stop"], first["run_start"]);
  EXPECT_LT(first["run_start"], first["block_start"]);
  EXPECT_EQ(first["run_stop"], events.size() - 1);
  EXPECT_TRUE(events.back()["metadata"].contains("status"));
}

const Json& event_of(const std::vector<Json>& events, const std::string& key) {
  for (const Json& event : events)
    if (event["key"] == key) return event;
  static const Json kNone;
  ADD_FAILURE() << "no " << key;
  return kNone;
}

TEST(Mllog, MatchesTheGoldenFile) {
  const judge::RunResult run = small_result();
  expect_golden(render_mllog(run.cases[0], run.cases[0].rounds[0], full_context()),
                "small.mllog.txt");
}

TEST(Mllog, HasWhatTheCheckerRequires) {
  const judge::RunResult run = demo_result();
  for (const judge::CaseResult& one : run.cases) {
    for (const judge::RoundResult& round : one.rounds) {
      const std::string text = render_mllog(one, round, full_context());
      if (round.started.empty())
        EXPECT_EQ(text, "");
      else
        check_log(parse_mllog(text));
    }
  }
}

TEST(Mllog, TimesComeFromThePhases) {
  const judge::RunResult run = small_result();
  const auto events =
      parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], full_context()));
  // 2026-11-15T10:15:00.250Z, computed with date(1).
  const std::int64_t start = 1794737700250;
  EXPECT_EQ(event_of(events, "init_start")["time_ms"], start);
  EXPECT_EQ(event_of(events, "run_start")["time_ms"], start + 500);
  EXPECT_EQ(event_of(events, "eval_start")["time_ms"], start + 10500);
  EXPECT_EQ(event_of(events, "run_stop")["time_ms"], start + 12500);
}

TEST(Mllog, EvaluationsInsideTheTrainingSplitItIntoBlocks) {
  const judge::RunResult run = demo_result();
  std::vector<std::string> keys;
  for (const Json& event :
       parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], full_context())))
    if (const auto key = event["key"].get<std::string>();
        key.starts_with("block_") || key.starts_with("eval_st"))
      keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("block_start", "block_stop", "eval_start", "eval_stop",
                                "block_start", "block_stop", "eval_start", "eval_stop"));
}

TEST(Mllog, StatusIsSuccessOnlyForAValidRound) {
  judge::RunResult run = small_result();
  judge::RoundResult& round = run.cases[0].rounds[0];
  const auto status = [&] {
    return parse_mllog(render_mllog(run.cases[0], round, full_context()))
        .back()["metadata"]["status"];
  };
  EXPECT_EQ(status(), "success");
  round.validity = judge::Validity::invalid;
  EXPECT_EQ(status(), "aborted");
}

TEST(Mllog, WhatIsNotKnownIsNullWithANote) {
  judge::RunResult run = small_result();
  run.cases[0].rounds[0].metrics.pop_back();
  const auto events = parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], {}));
  check_log(events);
  EXPECT_TRUE(event_of(events, "train_samples")["value"].is_null());
  EXPECT_TRUE(event_of(events, "eval_accuracy")["value"].is_null());
  EXPECT_TRUE(event_of(events, "eval_accuracy")["metadata"].contains("note"));
  EXPECT_EQ(event_of(events, "submission_division")["value"], "open");
  EXPECT_EQ(event_of(events, "cache_clear")["value"], false);
}

TEST(Mllog, TargetMetricIsTheAccuracy) {
  judge::RunResult run = small_result();
  run.cases[0].rounds[0].metrics.push_back(
      {{"final_mlm_accuracy", "1", Better::higher, ""}, 0.71, judge::Origin::reported, ""});
  MllogContext context;
  context.target_metric = "mlm_accuracy";
  const auto events = parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], context));
  EXPECT_EQ(event_of(events, "eval_accuracy")["value"], 0.71);
}

TEST(Mllog, RoundWithoutPhasesSpansItsTime) {
  judge::RunResult run = small_result();
  run.cases[0].rounds[0].phases.clear();
  const auto events =
      parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], full_context()));
  check_log(events);
  EXPECT_EQ(events.back()["time_ms"].get<std::int64_t>() -
                event_of(events, "run_start")["time_ms"].get<std::int64_t>(),
            12500);
}

TEST(Mllog, AnAutomaticBatchSizeIsTheOneThatWasUsed) {
  judge::RunResult run = demo_result();
  MllogContext context;
  context.config = {{"batch_size", "auto"}};
  const auto batch = [&] {
    return event_of(parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], context)),
                    "global_batch_size");
  };
  for (judge::RoundResult& round : run.cases[0].rounds)
    round.metrics.push_back(
        {{"batch_size", "samples", Better::neither, ""}, 256, judge::Origin::reported, ""});
  EXPECT_EQ(batch()["value"], 256 * 8);
}

TEST(Mllog, BatchSizeOfARankIsMultipliedByRanks) {
  judge::RunResult run = demo_result();
  MllogContext context;
  context.config = {{"train_batch_size", 32}};
  const auto events = parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], context));
  EXPECT_EQ(event_of(events, "global_batch_size")["value"], 32 * 8);
}

judge::RunResult evaluated_run() {
  judge::RunResult run = small_result();
  judge::RoundResult& round = run.cases[0].rounds[0];
  round.evaluations = {{5, 6, 0.25, true, {{"eval_loss", 2.5}, {"eval_accuracy", 0.4}}},
                       {10.5, 12.5, 1.0, true, {{"eval_accuracy", 0.93}}}};
  return run;
}

TEST(Mllog, EveryEvaluationHasItsAccuracyAndItsPlace) {
  const judge::RunResult run = evaluated_run();
  const auto events =
      parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], full_context()));
  check_log(events);
  std::vector<double> values;
  for (const Json& event : events) {
    if (event["key"] != "eval_accuracy") continue;
    values.push_back(event["value"].get<double>());
    // 307,200 samples of an epoch of 50,000.
    EXPECT_EQ(event["metadata"]["samples_count"], values.size() == 1 ? 76800 : 307200);
    EXPECT_EQ(event["metadata"]["epoch_num"], values.size() == 1 ? 1.536 : 6.144);
  }
  EXPECT_THAT(values, ElementsAre(0.4, 0.93));
  const Json& block = event_of(events, "block_start")["metadata"];
  EXPECT_EQ(block["first_epoch_num"], 0);
  EXPECT_EQ(block["epoch_count"], 1.536);
}

TEST(Mllog, WithoutTheSizeOfAnEpochThereIsNoEpochNumber) {
  const judge::RunResult run = evaluated_run();
  MllogContext context = full_context();
  context.config.erase("train_samples");
  const auto events = parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], context));
  EXPECT_FALSE(event_of(events, "eval_accuracy")["metadata"].contains("epoch_num"));
  EXPECT_THAT(mllog_obstacles(run.cases[0], run.cases[0].rounds[0], context),
              ::testing::Contains(HasSubstr("no epoch_num")));
}

TEST(Mllog, OfAssaysOwnProgramTheOptimizersSettingsAreKnown) {
  judge::RunResult run = evaluated_run();
  run.cases[0].model = "bert-large";
  MllogContext context = full_context();
  context.own_program = true;
  context.division = "closed";
  context.config = {{"optimizer", "lamb"},    {"learning_rate", 4e-4}, {"beta1", 0.9},
                    {"beta2", 0.999},         {"epsilon", 1e-6},       {"weight_decay", 0.01},
                    {"warmup_steps", 100},    {"max_steps", 1000},     {"batch_size", 8},
                    {"train_samples", 50000}, {"eval_samples", 10000}};
  const auto events = parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], context));
  EXPECT_EQ(event_of(events, "submission_benchmark")["value"], "bert");
  EXPECT_EQ(event_of(events, "opt_lamb_beta_2")["value"], 0.999);
  EXPECT_EQ(event_of(events, "gradient_accumulation_steps")["value"], 1);
  EXPECT_TRUE(mllog_obstacles(run.cases[0], run.cases[0].rounds[0], context).empty());
  context.own_program = false;
  EXPECT_THAT(mllog_obstacles(run.cases[0], run.cases[0].rounds[0], context),
              ElementsAre(HasSubstr("asks for gradient_accumulation_steps, opt_lamb_epsilon")));
}

TEST(Mllog, ResnetWithSgdHasWhatItsRulesAskForOrSaysWhatIsMissing) {
  judge::RunResult run = evaluated_run();
  run.cases[0].model = "resnet50";
  for (judge::EvaluationResult& evaluation : run.cases[0].rounds[0].evaluations)
    for (auto& [name, value] : evaluation.values) value = 0.8;
  MllogContext context = full_context();
  context.own_program = true;
  context.division = "closed";
  context.config = {{"optimizer", "sgd"},     {"learning_rate", 0.1}, {"final_lr_fraction", 0.0},
                    {"power", 1.0},           {"momentum", 0.9},      {"weight_decay", 1e-4},
                    {"warmup_epochs", 5.0},   {"max_steps", 1000},    {"batch_size", 8},
                    {"epochs", 90.0},         {"schedule", "step"},   {"milestones", {0.5, 0.75}},
                    {"train_samples", 50000}, {"eval_samples", 10000}};
  const auto obstacles = [&] {
    return mllog_obstacles(run.cases[0], run.cases[0].rounds[0], context);
  };
  const auto events = parse_mllog(render_mllog(run.cases[0], run.cases[0].rounds[0], context));
  EXPECT_EQ(event_of(events, "opt_learning_rate_decay_boundary_epochs")["value"], Json({45, 67.5}));
  EXPECT_TRUE(obstacles().empty());
  context.config["schedule"] = "cosine";
  context.config["max_steps"] = 0;
  EXPECT_THAT(obstacles(), ElementsAre(HasSubstr("asks for sgd_opt_learning_rate_decay_steps, "
                                                 "opt_learning_rate_decay_boundary_epochs")));
}

TEST(Mllog, AModelThatMlperfDoesNotHaveIsSaid) {
  const judge::RunResult run = evaluated_run();
  EXPECT_THAT(mllog_obstacles(run.cases[0], run.cases[0].rounds[0], full_context()),
              ElementsAre(HasSubstr("MLPerf has no benchmark 'null'")));
  MllogContext named = full_context();
  named.benchmark = "resnet";
  EXPECT_TRUE(mllog_obstacles(run.cases[0], run.cases[0].rounds[0], named).empty());
}

TEST(Mllog, FileNamesAreSafe) {
  EXPECT_EQ(mllog_file_name("a:b:1", 2), "a:b:1_round2.txt");
  EXPECT_EQ(mllog_file_name("../../etc/passwd", 1), "_.._.._etc_passwd_round1.txt");
  EXPECT_EQ(mllog_file_name("", 1), "__round1.txt");
  EXPECT_LT(mllog_file_name(std::string(1000, 'x'), 1).size(), 255U);
}

TEST(Mllog, ReadsIsoTimes) {
  EXPECT_EQ(parse_iso_ms("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_iso_ms("2024-02-29T23:59:59.5Z"), 1709251199500);
  for (const char* bad : {"", "2026-11-15", "2026-13-15T10:15:00Z", "2026-11-15T10:15:00", "x"})
    EXPECT_EQ(parse_iso_ms(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace assay::report
