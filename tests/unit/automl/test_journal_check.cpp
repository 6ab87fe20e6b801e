#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/experiment.h"
#include "automl/experiment_events.h"
#include "automl/journal_check.h"
#include "automl/start_models.h"
#include "core/files.h"

namespace assay::automl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An experiment of two workers that comes to its end, as the coordinator writes it.
class Journal : public ::testing::Test {
 protected:
  Journal() {
    settings_.start = to_json(basic_resnet({8, 8, 3}, 2, 1, 4, 4));
    settings_.workers = 2;
    settings_.max_trials = 6;
    settings_.epochs = {1, 2, 3};
    settings_.data = {{"data", "glyphs"}, {"train_size", 256}, {"eval_size", 64}};
    run();
  }

  void run() {
    Experiment experiment(settings_);
    Planner planner(settings_);
    std::map<int, Trial> given;
    double now = 0;
    const auto take = [&](const Experiment::Actions& actions) {
      for (Json event : actions.journal) {
        event["wall_ns"] = static_cast<std::int64_t>(1.79e18 + now * 1e9);
        events_.push_back(std::move(event));
      }
      for (const auto& tell : actions.tell)
        if (tell.accuracy) planner.tell(tell.trial, *tell.accuracy);
      for (const auto& send : actions.send)
        if (const auto* trial = std::get_if<Trial>(&send.message)) given[send.worker] = *trial;
    };
    const auto say = [&](int worker, const WorkerMessage& message) {
      take(experiment.received(now, worker, message));
      while (experiment.proposals_wanted(0) > 0) take(experiment.proposed(now, planner.propose()));
    };
    take(experiment.begin(now));
    for (int w = 0; w < 2; ++w) {
      take(experiment.joined(now, w, {kProtocolVersion, "", w, "host", "cpu"}));
      say(w, Ready{});
    }
    for (int turn = 0; turn < 20 && !experiment.ended(); ++turn) {
      const int w = turn % 2;
      if (!given.contains(w)) continue;
      const Trial trial = given[w];
      given.erase(w);
      for (int e = 1; e <= trial.epochs; ++e) {
        now += 1;
        say(w, Epoch{trial.trial, e, 0.5 + 0.01 * turn, 1, 256 * e, 64 * e, 0.9 * e});
      }
      say(w, Done{trial.trial, true, "", 0.5, trial.epochs, 256 * trial.epochs, 64 * trial.epochs,
                  0.9 * trial.epochs, 0.1, 0});
      if (!experiment.ended()) say(w, Ready{});
    }
    ASSERT_EQ(experiment.end_reason(), ExperimentEnd::trials);
  }

  [[nodiscard]] JournalCheck check(std::size_t skipped = 0) const {
    return check_journal(events_, skipped, settings_, true);
  }
  // The first event of a kind, and of a trial.
  [[nodiscard]] std::size_t place(const std::string& kind, std::int64_t trial = -1) const {
    for (std::size_t i = 0; i < events_.size(); ++i)
      if (events_[i]["event"] == kind && (trial < 0 || events_[i].value("trial", -1) == trial))
        return i;
    ADD_FAILURE() << "no " << kind;
    return 0;
  }
  [[nodiscard]] Json& first(const std::string& kind, std::int64_t trial = -1) {
    return events_[place(kind, trial)];
  }
  void cut(const std::string& kind, std::int64_t trial = -1) {
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(place(kind, trial)));
  }

  ExperimentSettings settings_;
  std::vector<Json> events_;
};

TEST_F(Journal, IsWholeAsItIsWritten) {
  const JournalCheck found = check();
  EXPECT_THAT(found.missing.first, IsEmpty());
  EXPECT_THAT(found.wrong.first, IsEmpty());
  EXPECT_EQ(found.reported.size(), 6U);
  EXPECT_EQ(found.clocks_apart_s, 0);
}

TEST_F(Journal, EveryLineButClocksIsMissed) {
  const std::vector<Json> whole = events_;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    events_ = whole;
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
    const JournalCheck found = check();
    EXPECT_GT(found.missing.count + found.wrong.count, 0U) << whole[i].dump();
  }
}

TEST(ExperimentEvents, EveryOneIsDocumented) {
  const std::string page = read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/automl.md");
  for (const std::string& name : enum_texts<journal::Event>())
    EXPECT_THAT(page, HasSubstr("\n| `" + name + "` |")) << "not in the table of the journal";
}

TEST(ExperimentEvents, ALineThatIsNotOneHasTheDefaults) {
  for (const Json& line : {Json(), Json(3), Json::array(), Json{{"event", 3}, {"at_s", "x"}}}) {
    EXPECT_EQ(journal::event_of(line), std::nullopt);
    EXPECT_EQ(journal::read<journal::Stamps>(line).at_s, 0);
    EXPECT_EQ(journal::read<journal::Started>(line).trial, -1);
  }
}

TEST(ExperimentEvents, AnEndWritesWhatIsKnownOfIt) {
  EXPECT_EQ(dump_line(journal::line(3, journal::Ended{.trial = 2,
                                                      .attempt = 1,
                                                      .status = TrialStatus::lost,
                                                      .reason = "the coordinator ended"})),
            R"({"event":"ended","at_s":3.0,"trial":2,"attempt":1,"status":"lost",)"
            R"("reason":"the coordinator ended","final":false})");
  EXPECT_EQ(dump_line(journal::line(4, journal::Ended{.trial = 2,
                                                      .attempt = 1,
                                                      .worker = 0,
                                                      .host = "a",
                                                      .status = TrialStatus::ok,
                                                      .final = true,
                                                      .accuracy = 0.5,
                                                      .epochs = 1,
                                                      .trained = 8,
                                                      .validated = 4,
                                                      .seconds = 1})),
            R"({"event":"ended","at_s":4.0,"trial":2,"attempt":1,"worker":0,"host":"a",)"
            R"("status":"ok","reason":"","final":true,"accuracy":0.5,"epochs":1,"trained":8,)"
            R"("validated":4,"seconds":1.0})");
}

TEST_F(Journal, ThatIsGoneIsMissing) {
  events_.clear();
  EXPECT_EQ(check().missing.first, "everything");
}

TEST_F(Journal, ThatBreaksOffLacksItsEnd) {
  events_.resize(events_.size() - 1);
  EXPECT_EQ(check().missing.first, "its end");
  EXPECT_EQ(check_journal(events_, 0, settings_, false).missing.count, 0U);
}

TEST_F(Journal, MayHaveOneUnreadableLineForEachResume) {
  EXPECT_EQ(check(1).missing.count, 1U);
  events_.push_back(Json{{"event", "resume"}, {"at_s", 1000}});
  events_.push_back(Json{{"event", "end"}, {"at_s", 1000}, {"reason", "trials"}});
  EXPECT_EQ(check(1).missing.count, 0U);
}

TEST_F(Journal, SaysWhatALineWasAbout) {
  cut("proposed", 2);
  EXPECT_EQ(check().missing.first, "the proposal of trial 2");
}

TEST_F(Journal, HasTheSettingsOfThePlan) {
  first("experiment")["settings"]["precision"] = "fp16";
  EXPECT_EQ(check().wrong.first, "its setting 'precision' is not the plan's");
}

TEST_F(Journal, CountsOperationsOfTheLineage) {
  first("proposed", 1)["per_sample"]["aiperf_train"] = 1'000'000'000;
  EXPECT_THAT(check().wrong.first, HasSubstr("trial 1: its lineage gives"));
}

TEST_F(Journal, TakesHyperParametersFromThePoint) {
  first("proposed", 1)["hyper"]["batch_size"] = 4096;
  EXPECT_THAT(check().wrong.first, HasSubstr("trial 1: its hyper-parameters"));
}

TEST_F(Journal, HoldsNoReportsThatCannotBe) {
  first("epoch", 0)["trained"] = 1'000'000'000'000;
  EXPECT_THAT(check().wrong.first, HasSubstr("1000000000000 samples an epoch"));
}

TEST_F(Journal, HoldsNoWorkersBeyondThePlan) {
  first("worker")["rank"] = 99;
  EXPECT_EQ(check().wrong.first, "rank 99 of 2 workers");
}

TEST_F(Journal, HoldsNoEpochsBeyondTheRounds) {
  first("started", 0)["epochs"] = 9999;
  EXPECT_THAT(check().wrong.first, HasSubstr("9999 epochs, where its round has 1"));
}

TEST_F(Journal, HasTheSameAccuracyInEpochsAndEnds) {
  first("ended", 0)["accuracy"] = 0.99;
  EXPECT_THAT(check().wrong.first, HasSubstr("an accuracy of 0.99 at its end"));
}

TEST_F(Journal, NamesAWorkerThatWasRefused) {
  const Json refused{{"event", "refused"},
                     {"at_s", events_.back()["at_s"]},
                     {"rank", 1},
                     {"host", "node7"},
                     {"reason", "epoch 9999 after 0 of at most 3"}};
  events_.insert(events_.end() - 1, refused);
  EXPECT_EQ(check().wrong.first, "worker 1 on node7: epoch 9999 after 0 of at most 3");
}

TEST_F(Journal, HasClocksThatAgree) {
  events_[events_.size() / 2]["wall_ns"] = static_cast<std::int64_t>(1.79e18 + 3600e9);
  EXPECT_GT(check().clocks_apart_s, 3000);
}

TEST_F(Journal, SurvivesForeignTypes) {
  const std::vector<Json> whole = events_;
  for (const char* kind : {"proposed", "started", "epoch", "ended", "worker"}) {
    const Json event = first(kind);
    for (const auto& [key, value] : event.items()) {
      if (key == "event") continue;
      for (const Json& odd : {Json(), Json("x"), Json::array({1}), Json(-1e300)}) {
        first(kind)[key] = odd;
        (void)check();
        events_ = whole;
      }
    }
  }
}

}  // namespace
}  // namespace assay::automl
