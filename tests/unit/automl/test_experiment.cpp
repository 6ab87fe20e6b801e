#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/experiment.h"
#include "automl/start_models.h"
#include "error_of.h"

namespace assay::automl {
namespace {

ExperimentSettings small_settings(int workers = 2) {
  ExperimentSettings settings;
  settings.start = to_json(basic_resnet({8, 8, 3}, 2, 1, 4, 4));
  settings.workers = workers;
  settings.max_trials = 100;
  settings.epochs = {1, 2, 3};
  return settings;
}

// Drives an experiment as the coordinator does, but at once and in virtual time.
struct Driver {
  explicit Driver(const ExperimentSettings& s) : settings(s), experiment(s), planner(s) {
    take(experiment.begin(0));
    plan();
  }
  // Goes on from what another one has written.
  Driver(const ExperimentSettings& s, const std::vector<Json>& events)
      : settings(s), experiment(s), planner(s), journal(events) {
    now = events.back()["at_s"].get<double>();
    const auto planned = planner.replay(events, "journal");
    take(experiment.begin(now, planned, events));
    plan();
  }
  void take(const Experiment::Actions& actions) {
    for (const Json& event : actions.journal) journal.push_back(event);
    for (const auto& tell : actions.tell) {
      told.push_back(tell);
      if (tell.accuracy)
        planner.tell(tell.trial, *tell.accuracy);
      else
        planner.tell_failed(tell.trial, tell.reason);
    }
    for (const auto& send : actions.send) {
      if (const auto* trial = std::get_if<Trial>(&send.message))
        given[send.worker].push_back(*trial);
      if (std::holds_alternative<Stop>(send.message)) stopped.insert(send.worker);
      if (const auto* drop = std::get_if<Drop>(&send.message)) dropped.insert(drop->trial);
    }
    for (const auto& close : actions.close) closed[close.worker] = close.reason;
  }
  // Time passes, and the coordinator looks every second; `alive` say that they live.
  void pass(double seconds, const std::set<int>& alive = {}, std::int64_t progress = 0) {
    for (double until = now + seconds; now < until;) {
      now = std::min(until, now + 1);
      for (const int worker : alive) say(worker, Alive{progress});
      take(experiment.tick(now));
    }
  }
  void plan() {
    while (experiment.proposals_wanted(0) > 0) take(experiment.proposed(now, planner.propose()));
  }
  void join(int worker, int rank) {
    take(experiment.joined(now, worker, {kProtocolVersion, "t", rank, "host", "cpu"}));
    say(worker, Ready{});
  }
  void say(int worker, const WorkerMessage& message) {
    take(experiment.received(now, worker, message));
    plan();
  }
  [[nodiscard]] const Trial& last(int worker) { return given[worker].back(); }
  void train(int worker, double accuracy, int epochs = 1) {
    const std::int64_t id = last(worker).trial;
    for (int e = 1; e <= epochs; ++e) say(worker, Epoch{id, e, accuracy, 1, 100 * e, 10 * e, 0});
    say(worker, Done{id, true, "", accuracy, epochs, 100 * epochs, 10 * epochs, 1, 0, 0});
    say(worker, Ready{});
  }
  [[nodiscard]] std::vector<Json> events(const std::string& kind) const {
    std::vector<Json> out;
    for (const Json& event : journal)
      if (event["event"] == kind) out.push_back(event);
    return out;
  }

  ExperimentSettings settings;
  Experiment experiment;
  Planner planner;
  double now = 0;
  std::vector<Json> journal;
  std::vector<Experiment::Tell> told;
  std::map<int, std::vector<Trial>> given;
  std::set<int> stopped;
  std::set<std::int64_t> dropped;
  std::map<int, std::string> closed;
};

TEST(Experiment, GivesEveryWorkerADifferentTrialAtOnce) {
  Driver d(small_settings(4));
  for (int w = 0; w < 4; ++w) d.join(w, w);
  std::set<std::int64_t> ids;
  for (int w = 0; w < 4; ++w) ids.insert(d.last(w).trial);
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_FALSE(d.last(0).parent.has_value());
  EXPECT_TRUE(d.last(1).parent.has_value());
}

TEST(Experiment, HasATrialReadyBeforeAWorkerAsks) {
  Driver d(small_settings(2));
  d.join(0, 0);
  d.join(1, 1);
  EXPECT_EQ(d.experiment.status().waiting, 0);  // nothing is known yet to prepare it from
  d.train(0, 0.5);
  EXPECT_EQ(d.experiment.status().idle, 0);
  EXPECT_GE(d.experiment.status().waiting, 1);
}

TEST(Experiment, EpochsAndPatienceGrowWithTheRound) {
  Driver d(small_settings(2));
  d.join(0, 0);
  std::vector<int> epochs;
  std::vector<int> patience;
  for (int i = 0; i < 8; ++i) {
    epochs.push_back(d.last(0).epochs);
    patience.push_back(d.last(0).patience.epochs);
    d.train(0, 0.5);
  }
  EXPECT_EQ(epochs, (std::vector{1, 1, 2, 2, 3, 3, 3, 3}));
  EXPECT_EQ(patience, (std::vector{6, 6, 8, 8, 10, 10, 12, 12}));
}

TEST(Experiment, TellsThePlannerTheBestAccuracyThatWasReported) {
  ExperimentSettings settings = small_settings();
  settings.epochs = {2};
  Driver d(settings);
  d.join(0, 0);
  const std::int64_t id = d.last(0).trial;
  d.now = 2;
  d.say(0, Epoch{id, 1, 0.7, 1, 100, 10, 1});
  d.say(0, Epoch{id, 2, 0.6, 1, 200, 20, 2});
  d.say(0, Done{id, true, "", 0.99, 2, 200, 20, 2, 0, 0});  // says more than it has shown
  ASSERT_EQ(d.told.size(), 1U);
  EXPECT_EQ(d.told[0].accuracy, 0.7);
}

TEST(Experiment, GivesALostWorkersTrialToAnotherAndNamesTheLoss) {
  Driver d(small_settings());
  d.join(0, 0);
  const std::int64_t id = d.last(0).trial;
  d.take(d.experiment.left(1, 0, "the connection was closed"));
  d.join(1, 1);
  EXPECT_EQ(d.last(1).trial, id);
  EXPECT_EQ(d.last(1).attempt, 2);
  EXPECT_TRUE(d.told.empty());
  const Json lost = d.events("ended").at(0);
  EXPECT_EQ(lost["status"], "lost");
  EXPECT_NE(lost["reason"].get<std::string>().find("worker 0 on host"), std::string::npos);
  EXPECT_EQ(lost["host"], "host");
}

TEST(Experiment, GivesUpOnATrialThatCostsWorkerAfterWorker) {
  Driver d(small_settings(4));
  for (int w = 0; w < 3; ++w) {
    d.join(w, w);
    EXPECT_EQ(d.last(w).trial, 0);
    d.take(d.experiment.left(1, w, "gone"));
  }
  ASSERT_EQ(d.told.size(), 1U);
  EXPECT_FALSE(d.told[0].accuracy.has_value());
  d.join(3, 3);
  EXPECT_NE(d.last(3).trial, 0);
}

TEST(Experiment, ASilentWorkerIsLostAndNamed) {
  Driver d(small_settings());
  d.join(0, 0);
  d.join(1, 1);
  d.pass(29);
  d.say(1, Alive{});
  d.pass(2);
  ASSERT_TRUE(d.closed.contains(0));
  EXPECT_FALSE(d.closed.contains(1));
  EXPECT_EQ(d.closed[0], "nothing was heard of it for 31 s");
  EXPECT_EQ(d.events("worker").back()["what"], "left");
}

TEST(Experiment, EndsAtOnceByNameWhenNobodyIsHeardAnyMore) {
  ExperimentSettings settings = small_settings();
  settings.silence = std::chrono::seconds(10);
  Driver d(settings);
  d.join(0, 0);
  d.join(1, 1);
  d.pass(12, {0, 1});
  d.pass(11);  // both are stopped
  EXPECT_EQ(d.experiment.end_reason(), ExperimentEnd::failed);
  EXPECT_EQ(d.experiment.end_detail(),
            "no worker is left: worker 0 on host: nothing was heard of it for 11 s; worker 1 on "
            "host: nothing was heard of it for 11 s");
  EXPECT_EQ(d.journal.back()["event"], "end");
  EXPECT_EQ(d.journal.back()["at_s"], 23);
}

TEST(Experiment, WaitsForACutOffWorkerAsLongAsForASilentOne) {
  Driver d(small_settings(1));
  d.join(0, 0);
  d.pass(10, {0});
  d.take(d.experiment.left(d.now, 0, "Connection reset by peer"));
  d.pass(29);
  EXPECT_FALSE(d.experiment.ended());
  d.join(1, 0);
  EXPECT_EQ(d.last(1).attempt, 2);
  d.pass(100, {1});
  EXPECT_FALSE(d.experiment.ended());
  d.take(d.experiment.left(d.now, 1, "Connection reset by peer"));
  d.pass(31);
  EXPECT_EQ(d.experiment.end_detail(),
            "no worker is left: worker 0 on host: Connection reset by peer");
}

TEST(Experiment, DoesNotEndBeforeThoseWhoAreStillStarting) {
  Driver d(small_settings(2));
  d.join(0, 0);
  d.take(d.experiment.left(d.now, 0, "gone"));
  d.pass(200);  // libraries of worker 1 come over a slow network
  EXPECT_FALSE(d.experiment.ended());
  d.join(1, 1);
  d.train(1, 0.5);
  EXPECT_EQ(d.told.size(), 1U);
}

TEST(Experiment, TakesASilentWorkerBack) {
  ExperimentSettings settings = small_settings();
  settings.silence = std::chrono::seconds(10);
  Driver d(settings);
  d.join(0, 0);
  d.join(1, 1);
  d.pass(12, {1});
  ASSERT_TRUE(d.closed.contains(0));
  EXPECT_EQ(d.experiment.status().workers, 1);
  d.join(2, 0);  // over another connection
  EXPECT_EQ(d.experiment.status().workers, 2);
  EXPECT_FALSE(d.closed.contains(2));
  d.train(2, 0.5);
  EXPECT_EQ(d.told.size(), 1U);
}

TEST(Experiment, AWorkerThatLivesButDoesNotTrainIsLostAndNamed) {
  Driver d(small_settings());
  d.join(0, 0);
  d.join(1, 1);
  const std::int64_t hung = d.last(0).trial;
  d.now = 2;
  d.train(1, 0.5);  // an epoch takes two seconds
  std::int64_t batches = 0;
  while (d.closed.empty() && d.now < 1000) {
    d.say(1, Alive{++batches});  // goes on, slowly
    d.pass(1, {0});
  }
  EXPECT_LT(d.now, 130) << "two minutes are the least, ten epochs would be less";
  ASSERT_TRUE(d.closed.contains(0));
  EXPECT_FALSE(d.closed.contains(1));
  EXPECT_NE(d.closed[0].find("it is alive, but trial " + std::to_string(hung) + " has not gone on"),
            std::string::npos);
  EXPECT_EQ(d.events("ended").back()["host"], "host");
}

TEST(Experiment, BeforeTheFirstEpochTheSettingBoundsAHungWorker) {
  ExperimentSettings settings = small_settings(1);
  settings.progress = std::chrono::minutes(5);
  Driver d(settings);
  d.join(0, 0);
  for (std::int64_t batch = 1; batch <= 20; ++batch) d.pass(60, {0}, batch);  // a slow first epoch
  EXPECT_FALSE(d.experiment.ended());
  d.pass(301, {0}, 20);
  EXPECT_TRUE(d.closed.contains(0));
  EXPECT_EQ(d.experiment.status().workers, 0);
}

TEST(Experiment, BatchesWithoutAnEpochAreBoundedByWhatEpochsTook) {
  ExperimentSettings settings = small_settings();
  settings.progress = std::chrono::seconds(60);
  Driver d(settings);
  d.join(0, 0);
  d.join(1, 1);
  std::int64_t batch = 0;
  while (d.now < 100) d.pass(1, {0, 1}, ++batch);
  d.train(1, 0.5);  // an epoch takes 100 s
  while (d.closed.empty() && d.now < 10'000) d.pass(1, {0, 1}, ++batch);
  ASSERT_TRUE(d.closed.contains(0));
  EXPECT_NE(d.closed[0].find("has had no epoch for"), std::string::npos) << d.closed[0];
  EXPECT_GT(d.now, 150);  // ten times, less because its model is the smaller one
  EXPECT_LT(d.now, 1500);
}

TEST(Experiment, APauseOfTheCoordinatorIsNotHeldAgainstTheWorkers) {
  Driver d(small_settings());
  d.join(0, 0);
  d.pass(10, {0});
  d.now += 300;  // stopped, with the workers' messages in its sockets
  d.take(d.experiment.tick(d.now));
  EXPECT_TRUE(d.closed.empty());
  d.pass(31);
  EXPECT_TRUE(d.closed.contains(0));
}

TEST(Experiment, AWorkerThatWasSentAwayDoesNotComeBack) {
  ExperimentSettings settings = small_settings();
  settings.data["train_size"] = 256;
  Driver d(settings);
  d.join(0, 1);
  d.say(0, Epoch{d.last(0).trial, 1, 0.99, 1, 1'000'000, 10, 0});
  ASSERT_TRUE(d.closed.contains(0));
  d.take(d.experiment.joined(d.now, 1, {kProtocolVersion, "t", 1, "host", "cpu"}));
  EXPECT_NE(d.closed[1].find("it was sent away"), std::string::npos);
  EXPECT_EQ(d.experiment.status().workers, 0);
}

TEST(Experiment, RecordsWhatATrialInherited) {
  Driver d(small_settings());
  d.join(0, 0);
  d.join(1, 1);
  const Trial& child = d.last(1);
  ASSERT_TRUE(child.parent);
  d.say(1, Inherited{child.trial, 30, 36, "ab12"});
  const Json event = d.events("inherited").at(0);
  EXPECT_EQ(event["parent"], child.parent->trial);
  const auto said = record_of(d.journal).trials.at(static_cast<std::size_t>(child.trial)).inherited;
  ASSERT_TRUE(said);
  EXPECT_EQ(said->tensors, 30);
  EXPECT_EQ(said->of, 36);
  EXPECT_EQ(said->sha256, "ab12");
}

TEST(Experiment, RecordsWeightsThatCouldNotBeKept) {
  Driver d(small_settings());
  d.take(d.experiment.weights(3, 0, 700, "No space left on device"));
  d.take(d.experiment.weights(4, 1, 700, ""));
  const ExperimentRecord record = record_of(d.journal);
  ASSERT_EQ(record.weights_lost.size(), 1U);
  EXPECT_EQ(record.weights_lost[0].trial, 0);
  EXPECT_EQ(record.weights_lost[0].reason, "No space left on device");
}

TEST(Experiment, AResultThatIsNoNumberFailsTheTrialNotTheWorker) {
  Driver d(small_settings());
  d.join(0, 0);
  const std::int64_t id = d.last(0).trial;
  d.take(d.experiment.failed(1, 0, id, "accuracy is null"));
  ASSERT_EQ(d.told.size(), 1U);
  EXPECT_FALSE(d.told[0].accuracy.has_value());
  EXPECT_TRUE(d.dropped.contains(id));
  EXPECT_TRUE(d.closed.empty());
  d.say(0, Done{id, false, "dropped", 0, 0, 0, 0, 0, 0, 0});
  d.say(0, Ready{});
  EXPECT_NE(d.last(0).trial, id);
}

TEST(Experiment, EndsWhenTenTrialsInARowGaveNoNumber) {
  Driver d(small_settings());
  d.join(0, 0);
  for (int i = 0; i < 10; ++i) {
    ASSERT_FALSE(d.experiment.ended()) << i;
    const std::int64_t id = d.last(0).trial;
    d.take(d.experiment.failed(1, 0, id, "accuracy is null"));
    d.say(0, Ready{});
  }
  ASSERT_TRUE(d.experiment.ended());
  EXPECT_EQ(d.journal.back()["reason"], "failed");
  EXPECT_THAT(d.journal.back()["detail"].get<std::string>(),
              testing::HasSubstr("10 trials in a row failed, the last: accuracy is null"));
}

TEST(Experiment, ATrialThatCannotBeBegunIsTriedOnAnotherWorkerOnce) {
  Driver d(small_settings());
  d.join(0, 0);
  d.join(1, 1);
  const std::int64_t id = d.last(0).trial;
  const Done failed{id, false, "no such folder", 0, 0, 0, 0, 0, 0, 0};
  d.say(0, failed);
  d.say(0, Ready{});
  EXPECT_NE(d.last(0).trial, id);
  d.train(1, 0.5);
  EXPECT_EQ(d.last(1).trial, id);
  d.say(1, failed);
  EXPECT_FALSE(d.told.back().accuracy.has_value());
  EXPECT_EQ(d.told.back().trial, id);
}

TEST(Experiment, AWorkerThatCannotBeginAnythingIsSentAwayByName) {
  Driver d(small_settings());
  d.join(0, 0);
  d.join(1, 1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(d.closed.contains(0));
    d.say(0, Done{d.last(0).trial, false, "/data is missing", 0, 0, 0, 0, 0, 0, 0});
    d.say(0, Ready{});
    d.train(1, 0.5);
  }
  ASSERT_TRUE(d.closed.contains(0));
  EXPECT_NE(d.closed[0].find("/data is missing"), std::string::npos);
}

TEST(Experiment, EndsWhenNothingButFailuresComes) {
  Driver d(small_settings(1));
  d.join(0, 0);
  for (int i = 0; i < 40 && !d.experiment.ended(); ++i) {
    d.say(0, Done{d.last(0).trial, false, "out of memory", 0, 0, 1, 0, 0, 0, 0});
    if (!d.experiment.ended()) d.say(0, Ready{});
  }
  EXPECT_EQ(d.experiment.end_reason(), ExperimentEnd::failed);
  EXPECT_NE(d.experiment.end_detail().find("out of memory"), std::string::npos);
}

TEST(Experiment, ATrialThatNeverEndsIsEndedAndKeepsWhatItMeasured) {
  ExperimentSettings settings = small_settings();
  settings.trial_limit = std::chrono::seconds(100);
  Driver d(settings);
  d.join(0, 0);
  const std::int64_t id = d.last(0).trial;
  d.now = 99;
  d.say(0, Epoch{id, 1, 0.6, 1, 100, 10, 99});
  d.take(d.experiment.tick(101));
  EXPECT_TRUE(d.dropped.contains(id));
  d.now = 102;
  d.say(0, Done{id, false, "dropped", 0.6, 1, 150, 10, 102, 0, 0});
  ASSERT_EQ(d.told.size(), 1U);
  EXPECT_EQ(d.told[0].accuracy, 0.6);
  EXPECT_EQ(d.events("ended").back()["trained"], 150);
}

TEST(Experiment, AWorkerThatDoesNotEndItsTrialWhenToldIsGivenUp) {
  ExperimentSettings settings = small_settings();
  settings.trial_limit = std::chrono::seconds(100);
  Driver d(settings);
  d.join(0, 0);
  d.pass(140, {0});
  ASSERT_TRUE(d.closed.contains(0));
  EXPECT_NE(d.closed[0].find("did not end trial 0"), std::string::npos);
  EXPECT_EQ(d.told.size(), 1U);  // it is not given to another worker, to hang there too
}

TEST(Experiment, EndsAfterTheLastTrial) {
  ExperimentSettings settings = small_settings();
  settings.max_trials = 5;
  Driver d(settings);
  d.join(0, 0);
  d.join(1, 1);
  int trained = 0;
  while (!d.experiment.ended()) {
    const int w = trained % 2;
    if (d.given[w].empty() || d.experiment.status().running == 0) break;
    const bool busy = d.experiment.graph(d.last(w).trial) != nullptr;
    ASSERT_TRUE(busy);
    d.train(w, 0.5);
    ++trained;
    if (trained > 10) break;
  }
  EXPECT_EQ(d.experiment.end_reason(), ExperimentEnd::trials);
  EXPECT_EQ(d.events("proposed").size(), 5U);
  EXPECT_EQ(d.stopped, (std::set{0, 1}));
  EXPECT_EQ(d.journal.back()["event"], "end");
}

TEST(Experiment, EndsWhenTheTimeIsOverAndCountsWhatWasUnderWay) {
  ExperimentSettings settings = small_settings();
  settings.max_duration = std::chrono::seconds(50);
  Driver d(settings);
  d.join(0, 0);
  d.now = 40;
  d.say(0, Epoch{d.last(0).trial, 1, 0.9, 1, 1000, 100, 40});
  d.take(d.experiment.tick(50));
  EXPECT_EQ(d.experiment.end_reason(), ExperimentEnd::time);
  EXPECT_EQ(d.events("ended").back()["status"], "stopped");
  const ExperimentRecord record = record_of(d.journal);
  EXPECT_NEAR(record.final.error, 0.1, 1e-12);
  EXPECT_GT(record.final.score, 0);
  EXPECT_EQ(record.elapsed_s, 50);
  d.take(d.experiment.left(60, 0, "closed"));  // after the end: not part of it
  EXPECT_EQ(record_of(d.journal).elapsed_s, 50);
}

TEST(Experiment, SendsAWorkerAwayThatReportsWhatCannotBeAndNamesIt) {
  ExperimentSettings settings = small_settings();
  settings.data["train_size"] = 256;
  Driver d(settings);
  d.join(0, 1);
  const std::int64_t id = d.last(0).trial;
  d.say(0, Epoch{id, 1, 0.99, 1, 1'000'000'000'000, 10, 0});
  ASSERT_TRUE(d.closed.contains(0));
  EXPECT_NE(d.closed[0].find("1000000000000 samples an epoch of a training set of 256"),
            std::string::npos);
  ASSERT_EQ(d.events("refused").size(), 1U);
  EXPECT_EQ(d.events("refused")[0]["rank"], 1);
  EXPECT_TRUE(d.events("epoch").empty());
  EXPECT_EQ(record_of(d.journal).final.operations, 0);
  d.join(1, 0);
  EXPECT_EQ(d.last(1).trial, id) << "another worker trains it";
}

TEST(Experiment, TakesNoWorkerOfARankThatThereIsNot) {
  Driver d(small_settings(2));
  d.take(d.experiment.joined(0, 7, {kProtocolVersion, "t", 99, "host", "cpu"}));
  EXPECT_EQ(d.closed[7], "rank 99 of 2 workers");
  EXPECT_TRUE(d.events("worker").empty());
  EXPECT_EQ(d.experiment.status().workers, 0);
  d.say(7, Ready{});
  EXPECT_TRUE(d.given.empty());
}

TEST(Experiment, AWorkerMayHoldTheNextTrialWhileItEndsTheLast) {
  Driver d(small_settings());
  d.join(0, 0);
  const std::int64_t first = d.last(0).trial;
  d.say(0, Epoch{first, 1, 0.5, 1, 100, 10, 1});
  d.say(0, Ready{});
  EXPECT_NE(d.last(0).trial, first);
  d.say(0, Done{first, true, "", 0.5, 1, 100, 10, 1, 0, 0});
  EXPECT_EQ(d.told.size(), 1U);
  d.say(0, Ready{});
  d.say(0, Ready{});  // a third at once
  EXPECT_TRUE(d.closed.contains(0));
}

TEST(Experiment, OfTheSameRankReplacesTheOlderWorker) {
  Driver d(small_settings());
  d.join(0, 1);
  const std::int64_t id = d.last(0).trial;
  d.join(1, 1);
  EXPECT_TRUE(d.closed.contains(0));
  EXPECT_EQ(d.last(1).trial, id);
}

TEST(Experiment, GoesOnFromAnyLineOfItsJournalAsIfNothingHadHappened) {
  ExperimentSettings settings = small_settings();
  settings.max_trials = 12;
  // Accuracy depends on the architecture alone, so that a resumed search meets the same results.
  const auto worth = [](Driver& d) {
    const Graph* graph = d.experiment.graph(d.last(0).trial);
    return 0.3 + 0.5 * static_cast<double>(graph->hash() % 1000) / 1000;
  };
  Driver whole(settings);
  whole.join(0, 0);
  while (!whole.experiment.ended()) whole.train(0, worth(whole));
  const auto outcome = [](const std::vector<Json>& journal) {
    const ExperimentRecord record = record_of(journal);
    std::vector<std::string> out;
    for (const TrialRecord& trial : record.trials)
      out.push_back(std::string(to_text(trial.status)) + dump_line(trial.operations) +
                    dump_line(trial.hyper) + std::to_string(trial.accuracy.value_or(-1)));
    return out;
  };
  const auto expected = outcome(whole.journal);
  ASSERT_EQ(expected.size(), 12U);
  for (std::size_t cut = 1; cut < whole.journal.size(); cut += 3) {
    const std::vector<Json> half(whole.journal.begin(),
                                 whole.journal.begin() + static_cast<std::ptrdiff_t>(cut));
    Driver resumed(settings, half);
    resumed.join(0, 0);
    while (!resumed.experiment.ended()) resumed.train(0, worth(resumed));
    EXPECT_EQ(outcome(resumed.journal), expected) << "cut after line " << cut;
  }
}

TEST(Experiment, KeepsFinishedTrialsWhenItIsResumed) {
  Driver first(small_settings());
  first.join(0, 0);
  first.train(0, 0.5);
  first.train(0, 0.6);
  Driver second(small_settings(), first.journal);
  EXPECT_EQ(second.experiment.status().ok, 2);
  second.join(5, 0);
  EXPECT_EQ(second.last(5).trial, 2);
  EXPECT_EQ(second.last(5).attempt, 1);
}

TEST(Planner, BeginsWithTheStartModelAsItIs) {
  ExperimentSettings settings;  // the default space
  settings.start = "resnet50";
  Planner planner(settings);
  const Planned first = planner.propose();
  EXPECT_EQ(first.hyper.kernel_size, 0);
  EXPECT_EQ(first.per_sample.aiperf_validate, 7'806'583'495);
  EXPECT_EQ(first.per_sample.aiperf_train, 23'053'458'315);
}

TEST(Planner, MorphismsKeepTheKernelsOfTheStartModel) {
  ExperimentSettings settings;
  settings.start = "resnet50";
  settings.space.erase("kernel_size");
  settings.space.erase("dropout");
  Planner planner(settings);
  for (int i = 0; i < 4; ++i) {
    const Planned planned = planner.propose();
    EXPECT_EQ(planned.hyper.kernel_size, 0);
    EXPECT_EQ(planned.per_sample, count_operations(planned.proposal.graph));
    EXPECT_EQ(planned.proposal.graph.layers()[0].kernel, 7);
  }
}

TEST(Settings, SurviveTheirJson) {
  ExperimentSettings settings;
  settings.patience = Patience{4, 0.01};
  settings.max_duration = std::chrono::minutes(7);
  settings.limits.parameters = 12345;
  settings.progress = std::chrono::minutes(3);
  settings.devices_per_trial = 4;
  EXPECT_EQ(to_json(settings_from_json(to_json(settings), "x")), to_json(settings));
}

TEST(Settings, OfAnEarlierVersionAreRead) {
  Json json = to_json(ExperimentSettings{});
  json.erase("progress_ns");
  json.erase("devices_per_trial");
  EXPECT_EQ(to_json(settings_from_json(json, "x")), to_json(ExperimentSettings{}));
}

TEST(Settings, NameWhatIsWrongInASpace) {
  ExperimentSettings settings;
  settings.space = {{"lerning_rate", {{"type", "uniform"}, {"low", 0}, {"high", 1}}}};
  EXPECT_NE(testing::error_of([&] {
              check(settings, "s.yaml:3");
              return 0;
            }).find("did you mean 'learning_rate'"),
            std::string::npos);
  settings.space = {{"kernel_size", {{"type", "choice"}, {"options", {3, 4}}}}};
  EXPECT_NE(testing::error_of([&] {
              check(settings, "s.yaml:3");
              return 0;
            }).find("kernel_size"),
            std::string::npos);
  settings.space = {{"dropout", {{"type", "uniform"}, {"low", 0.5}, {"high", 0.1}}}};
  EXPECT_NE(testing::error_of([&] {
              check(settings, "s.yaml:3");
              return 0;
            }).find("empty"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::automl
