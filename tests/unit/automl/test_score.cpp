#include <cmath>

#include <gtest/gtest.h>

#include "automl/experiment_journal.h"
#include "automl/score.h"
#include "automl/start_models.h"
#include "core/files.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::automl {
namespace {

Json proposed(int trial, std::int64_t train, std::int64_t validate) {
  return {{"event", "proposed"},
          {"at_s", 0},
          {"trial", trial},
          {"parent", -1},
          {"per_sample",
           {{"aiperf_train", train},
            {"aiperf_validate", validate},
            {"exact_train", 2 * train},
            {"exact_validate", 2 * validate}}}};
}
Json started(double at, int trial, int worker, int attempt = 1) {
  return {{"event", "started"},
          {"at_s", at},
          {"trial", trial},
          {"attempt", attempt},
          {"worker", worker}};
}
Json epoch(double at, int trial, int number, double accuracy, int trained, int validated) {
  return {{"event", "epoch"},     {"at_s", at},         {"trial", trial},         {"epoch", number},
          {"accuracy", accuracy}, {"trained", trained}, {"validated", validated}, {"worker", 0}};
}
Json ended(double at, int trial, int worker, const char* status, int trained, int validated) {
  return {{"event", "ended"}, {"at_s", at},    {"trial", trial},     {"worker", worker},
          {"status", status}, {"final", true}, {"trained", trained}, {"validated", validated}};
}
Json worker(double at, int rank, const char* what) {
  return {{"event", "worker"}, {"at_s", at}, {"rank", rank}, {"what", what}, {"host", "n"}};
}
Json end(double at) {
  return {{"event", "end"}, {"at_s", at}, {"reason", "time"}};
}

TEST(Score, IsMinusTheLogarithmOfTheErrorTimesOperationsPerSecond) {
  // 1000 trained at 30, 100 validated at 10: 31,000 operations in 100 s; error 0.2.
  const ExperimentRecord record =
      record_of({proposed(0, 30, 10), started(0, 0, 0), epoch(50, 0, 1, 0.8, 1000, 100), end(100)});
  EXPECT_DOUBLE_EQ(record.final.operations, 31'000);
  EXPECT_DOUBLE_EQ(record.final.ops, 310);
  EXPECT_DOUBLE_EQ(record.final.ops_exact, 620);
  EXPECT_NEAR(record.final.error, 0.2, 1e-12);
  EXPECT_NEAR(record.final.score, 310 * 1.6094379124341003, 1e-9);
  EXPECT_EQ(record.ended, ExperimentEnd::time);
}

TEST(Score, OfResNet50AgreesWithAIPerfsFiguresForOneEpoch) {
  // AIPerf: 50,000 validated and 1,280,000 trained images an epoch are 2.989875581795e16.
  const SampleOperations per = count_operations(resnet50());
  EXPECT_EQ(per.aiperf_train, 23'053'458'315);
  EXPECT_EQ(per.aiperf_validate, 7'806'583'495);
  Json proposal = proposed(0, 0, 0);
  proposal["per_sample"] = fields_to_json(per);
  const ExperimentRecord record =
      record_of({proposal, started(0, 0, 0), epoch(3600, 0, 1, 0.7, 1'280'000, 50'000), end(3600)});
  EXPECT_NEAR(record.final.operations / 2.989875581795e16, 1, 1e-12);
  EXPECT_NEAR(record.final.score, 2.989875581795e16 / 3600 * std::abs(std::log(0.3)), 1e3);
}

TEST(Score, CountsPartialEpochsAndEveryAttempt) {
  const ExperimentRecord record = record_of(
      {proposed(0, 10, 1), started(0, 0, 0), epoch(10, 0, 1, 0.5, 100, 10),
       ended(15, 0, 0, "lost", 150, 10), started(20, 0, 1, 2), epoch(30, 0, 1, 0.6, 100, 10),
       epoch(40, 0, 2, 0.55, 200, 20), ended(45, 0, 1, "ok", 230, 20), end(50)});
  // 150 · 10 + 10 in the first attempt, 230 · 10 + 20 in the second.
  EXPECT_DOUBLE_EQ(record.final.operations, 1510 + 2320);
  EXPECT_DOUBLE_EQ(record.trials.at(0).trained, 380);
  EXPECT_DOUBLE_EQ(record.trials.at(0).accuracy.value(), 0.6);
  EXPECT_EQ(record.trials.at(0).attempts, 2);
}

TEST(Score, AtAPointKnowsOnlyWhatHadHappened) {
  std::vector<Json> events{proposed(0, 10, 0), started(0, 0, 0)};
  for (int e = 1; e <= 10; ++e) events.push_back(epoch(720 * e, 0, e, 0.05 * e, 100 * e, 10 * e));
  events.push_back(end(7200));
  const ExperimentRecord record = record_of(events);
  ASSERT_EQ(score_step(7200), 360);
  ASSERT_EQ(record.points.size(), 19U);  // nothing was trained at the first
  EXPECT_DOUBLE_EQ(record.points.front().t_s, 720);
  const ScorePoint& fifth = record.points.at(3);
  EXPECT_DOUBLE_EQ(fifth.t_s, 1800);  // between the second and the third epoch
  EXPECT_DOUBLE_EQ(fifth.operations, 2000);
  EXPECT_NEAR(fifth.score, 2000.0 / 1800 * -std::log(0.9), 1e-12);
  EXPECT_DOUBLE_EQ(record.points.back().score, record.final.score);
}

TEST(Score, HasTwentyPointsOnShortRunsToo) {
  EXPECT_EQ(score_step(12 * 3600), 360);
  EXPECT_EQ(score_step(7199), 180);
  EXPECT_EQ(score_step(300), 15);
  EXPECT_EQ(score_step(299), 10);
  EXPECT_EQ(score_step(3), 1);
}

TEST(Score, OfNoErrorAtAllIsThatOfHalfASample) {
  const ExperimentRecord record =
      record_of({proposed(0, 10, 0), started(0, 0, 0), epoch(5, 0, 1, 1.0, 100, 500), end(10)});
  EXPECT_DOUBLE_EQ(record.final.error, 0.001);
  EXPECT_NEAR(record.final.score, 100 * 6.907755278982137, 1e-9);
}

TEST(Score, OfNothingIsZeroNotNaN) {
  EXPECT_EQ(record_of({}).final.score, 0);
  EXPECT_EQ(record_of({end(10)}).final.score, 0);
  const ExperimentRecord hopeless =
      record_of({proposed(0, 10, 0), started(0, 0, 0), epoch(5, 0, 1, 0.0, 100, 500), end(10)});
  EXPECT_EQ(hopeless.final.score, 0);
}

TEST(Score, PassesOverFieldsOfWrongTypes) {
  const ExperimentRecord record = record_of(
      {proposed(0, 10, 0),
       started(0, 0, 0),
       {{"event", "epoch"}, {"at_s", 5}, {"trial", "x"}, {"accuracy", 0.9}},
       {{"event", "epoch"}, {"at_s", 5}, {"trial", 7}, {"accuracy", 0.9}},
       {{"event", "epoch"}, {"at_s", 5}, {"trial", 0}, {"accuracy", nullptr}, {"trained", "many"}},
       end(10)});
  EXPECT_EQ(record.final.score, 0);
  EXPECT_FALSE(record.best.has_value());
}

TEST(Score, IdleTimeIsThatOfAllWorkersWithoutATrialAlsoWhileTheyAreAway) {
  // Worker 0: busy for 80 of 100 s; worker 1: comes after 50 s, and is busy for 50, twice at once.
  const ExperimentRecord record =
      record_of({worker(0, 0, "joined"), proposed(0, 1, 1), proposed(1, 1, 1), proposed(2, 1, 1),
                 started(10, 0, 0), worker(50, 1, "joined"), started(50, 1, 1), started(70, 2, 1),
                 ended(80, 1, 1, "ok", 1, 1), ended(90, 0, 0, "ok", 1, 1), end(100)});
  ASSERT_EQ(record.workers.size(), 2U);
  EXPECT_DOUBLE_EQ(record.workers[0].busy_s, 80);
  EXPECT_DOUBLE_EQ(record.workers[1].busy_s, 50);
  EXPECT_NEAR(record.idle_share.value(), 70.0 / 200, 1e-12);
}

TEST(Score, WorkersThatWereLostOrNeverCameAreIdle) {
  // Of four workers one came, worked for 20 s and was lost.
  const ExperimentRecord record =
      record_of({{{"event", "experiment"}, {"at_s", 0}, {"settings", {{"workers", 4}}}},
                 worker(0, 0, "joined"),
                 proposed(0, 1, 1),
                 started(0, 0, 0),
                 ended(20, 0, 0, "lost", 1, 1),
                 worker(20, 0, "left"),
                 end(100)});
  EXPECT_NEAR(record.idle_share.value(), 1 - 20.0 / 400, 1e-12);
}

TEST(Score, SaysSinceWhenTheDataAllowNoMore) {
  Json begin{{"event", "experiment"}, {"at_s", 0}};
  begin["settings"] = {{"data", {{"data", "glyphs"}, {"eval_size", 256}}}};
  EXPECT_DOUBLE_EQ(data_ceiling(begin["settings"]), 1 - 13.0 / 256);
  std::vector<Json> events{begin,
                           proposed(0, 1, 1),
                           started(0, 0, 0),
                           epoch(10, 0, 1, 0.9, 100, 256),
                           epoch(90, 0, 2, 0.949, 200, 512),
                           epoch(95, 0, 3, 0.949, 300, 768),
                           end(270)};
  EXPECT_EQ(record_of(events).ceiling_s, 90);
  events[0]["settings"]["data"]["label_noise"] = 0;
  EXPECT_FALSE(record_of(events).ceiling_s);
}

TEST(ExperimentJournal, KeepsWholeLinesAndPassesOverATornOne) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "journal.jsonl";
  {
    ExperimentJournal journal(file);
    journal.append(end(1));
    journal.commit();
  }
  write_file_atomic(file, read_file(file) + R"({"event":"epo)");
  {
    ExperimentJournal journal(file);
    journal.append(end(2));
    journal.commit();
  }
  std::size_t skipped = 0;
  const std::vector<Json> events = ExperimentJournal::read(file, &skipped);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1]["at_s"], 2);
  EXPECT_EQ(skipped, 1U);
}

TEST(ExperimentJournal, IsHeldByOneCoordinator) {
  const testing::TemporaryFolder folder;
  const ExperimentJournal first(folder.path() / "journal.jsonl");
  const std::string error =
      testing::error_of([&] { return ExperimentJournal(folder.path() / "journal.jsonl"); });
  EXPECT_NE(error.find("another coordinator"), std::string::npos) << error;
}

TEST(ExperimentJournal, OnAFullDiskIsAClearError) {
  const std::string error = testing::error_of([] {
    ExperimentJournal journal("/dev/full");
    journal.append(end(1));
    return 0;
  });
  EXPECT_NE(error.find("/dev/full"), std::string::npos) << error;
  EXPECT_NE(error.find("No space left"), std::string::npos) << error;
}

}  // namespace
}  // namespace assay::automl
