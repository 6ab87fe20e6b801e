#include <tuple>

#include <gmock/gmock.h>

#include "automl/experiment_settings.h"
#include "automl/lineage.h"
#include "automl/morphism.h"
#include "automl/worker_timeline.h"
#include "core/error.h"

namespace assay::automl {
namespace {

using Kind = WorkerSpan::Kind;

Json worker_event(double at, int rank, const char* what) {
  return {{"event", "worker"}, {"at_s", at}, {"rank", rank}, {"what", what}, {"host", "n1"}};
}
Json started_event(double at, int trial, int rank) {
  return {{"event", "started"}, {"at_s", at}, {"trial", trial}, {"worker", rank}};
}
Json ended(double at, int trial, int rank, const char* status) {
  return {{"event", "ended"}, {"at_s", at}, {"trial", trial}, {"worker", rank}, {"status", status}};
}
Json end_event(double at) {
  return {{"event", "end"}, {"at_s", at}, {"reason", "time"}};
}

using Row = std::tuple<Kind, double, double, std::int64_t>;
std::vector<Row> rows(const WorkerLine& line) {
  std::vector<Row> out;
  for (const WorkerSpan& span : line.spans)
    out.emplace_back(span.kind, span.from_s, span.to_s, span.trial);
  return out;
}

TEST(Timeline, TellsTrainingWaitingAndIdling) {
  const auto lines =
      timeline_of({worker_event(1, 0, "joined"), started_event(2, 0, 0), ended(10, 0, 0, "ok"),
                   started_event(11, 1, 0), ended(20, 1, 0, "failed"), end_event(25)});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].host, "n1");
  EXPECT_THAT(rows(lines[0]),
              ::testing::ElementsAre(Row{Kind::idle, 1, 2, -1}, Row{Kind::train, 2, 10, 0},
                                     Row{Kind::wait, 10, 11, -1}, Row{Kind::train, 11, 20, 1},
                                     Row{Kind::idle, 20, 25, -1}));
  EXPECT_EQ(lines[0].spans[3].status, TrialStatus::failed);
  EXPECT_DOUBLE_EQ(lines[0].seconds(Kind::train), 17);
}

TEST(Timeline, TrialHandedOutBeforeTheLastOneEndedBeginsBehindIt) {
  const auto lines =
      timeline_of({worker_event(0, 0, "joined"), started_event(0, 0, 0), started_event(9, 1, 0),
                   ended(10, 0, 0, "ok"), ended(15, 1, 0, "ok"), end_event(15)});
  EXPECT_THAT(rows(lines.at(0)),
              ::testing::ElementsAre(Row{Kind::train, 0, 10, 0}, Row{Kind::train, 10, 15, 1}));
}

TEST(Timeline, LostWorkerThatComesBackIsOneLineWithAGap) {
  const auto lines =
      timeline_of({worker_event(0, 3, "joined"), started_event(0, 0, 3), ended(5, 0, 3, "lost"),
                   worker_event(5, 3, "left"), worker_event(8, 3, "joined"), started_event(8, 0, 3),
                   end_event(12), ended(12, 0, 3, "stopped"), worker_event(13, 3, "left")});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].rank, 3);
  EXPECT_THAT(rows(lines[0]),
              ::testing::ElementsAre(Row{Kind::lost, 0, 5, 0}, Row{Kind::train, 8, 12, 0},
                                     Row{Kind::idle, 12, 13, -1}));
  EXPECT_THAT(lines[0].departures, ::testing::ElementsAre(5)) << "the end is no loss";
}

TEST(Timeline, TrialThatNobodySawEndReachesToTheLastEvent) {
  const auto lines = timeline_of(
      {worker_event(0, 0, "joined"), started_event(1, 0, 0), worker_event(7, 1, "joined")});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(rows(lines[0]).back(), (Row{Kind::train, 1, 7, 0}));
  EXPECT_EQ(lines[0].spans.back().status, std::nullopt);
}

TEST(Timeline, ResumeLosesWhatWasUnderWay) {
  const auto lines = timeline_of({worker_event(0, 0, "joined"),
                                  started_event(0, 0, 0),
                                  {{"event", "resume"}, {"at_s", 4}},
                                  worker_event(5, 0, "joined"),
                                  end_event(6)});
  EXPECT_THAT(rows(lines.at(0)),
              ::testing::ElementsAre(Row{Kind::lost, 0, 4, 0}, Row{Kind::idle, 5, 6, -1}));
}

TEST(Timeline, PassesOverWhatIsNoEvent) {
  EXPECT_TRUE(timeline_of({3,
                           "x",
                           {{"event", 7}},
                           {{"event", "started"}, {"worker", "a"}},
                           {{"event", "ended"}, {"worker", -4}}})
                  .empty());
}

TrialRecord trial(std::int64_t id, std::int64_t parent, Json operations) {
  TrialRecord out;
  out.id = id;
  out.parent = parent;
  out.operations = std::move(operations);
  out.hyper = to_json(Hyper{});
  return out;
}

ExperimentRecord family() {
  ExperimentSettings settings;
  settings.start = "resnet8";
  ExperimentRecord record;
  record.settings = to_json(settings);
  const Graph start = settings.start_graph();
  const Operation wider{Operation::Kind::wider, places(start, Operation::Kind::wider)[0].layer, 8};
  const Operation deeper = places(start, Operation::Kind::deeper)[1];
  record.trials = {trial(0, -1, Json::array()), trial(1, 0, Json::array({to_json(wider)})),
                   trial(2, 0, Json::array()), trial(3, 1, Json::array({to_json(deeper)}))};
  return record;
}

TEST(Lineage, LeadsFromTheStartModelToTheTrial) {
  const ExperimentRecord record = family();
  EXPECT_THAT(lineage_of(record, 3), ::testing::ElementsAre(0, 1, 3));
  EXPECT_THAT(lineage_of(record, 0), ::testing::ElementsAre(0));
  EXPECT_TRUE(lineage_of(record, 9).empty());
}

TEST(Lineage, EndsAtAParentThatIsNotEarlier) {
  ExperimentRecord record = family();
  record.trials[1].parent = 3;
  EXPECT_THAT(lineage_of(record, 3), ::testing::ElementsAre(1, 3));
}

TEST(Lineage, GivesTheGraphThatWasTrained) {
  ExperimentRecord record = family();
  ExperimentSettings settings;
  settings.start = "resnet8";
  const Graph start = settings.start_graph();
  EXPECT_EQ(architecture_of(record, 0), start);
  const Graph child = architecture_of(record, 3);
  EXPECT_EQ(child.layers().size(), start.layers().size() + 3) << "conv, norm and ReLU";
  EXPECT_GT(child.parameters(), architecture_of(record, 1).parameters());
  record.trials[0].hyper["dropout"] = 0.1;
  EXPECT_EQ(architecture_of(record, 0).layers().size(), start.layers().size() + 1);
}

TEST(Lineage, OfADamagedRecordIsAnError) {
  ExperimentRecord record = family();
  record.trials[1].operations = Json::array({Json::array({"wider", 100'000, 8})});
  EXPECT_THROW((void)architecture_of(record, 3), Error);
  record.trials[1].operations = 7;
  EXPECT_THROW((void)architecture_of(record, 3), Error);
  EXPECT_THROW((void)architecture_of(record, 4), Error);
}

}  // namespace
}  // namespace assay::automl
