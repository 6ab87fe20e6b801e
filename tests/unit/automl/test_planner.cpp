#include <gtest/gtest.h>

#include "automl/experiment.h"
#include "automl/morphism.h"
#include "automl/planner.h"
#include "automl/start_models.h"

namespace assay::automl {
namespace {

ExperimentSettings one_worker() {
  ExperimentSettings settings;
  settings.start = to_json(basic_resnet({8, 8, 3}, 2, 1, 4, 4));
  settings.workers = 1;
  return settings;
}

// An experiment with one worker that is always faster than the search: every result comes while the
// next proposal is under way.
struct SlowSearch {
  Planner planner{one_worker()};
  Experiment experiment{one_worker()};
  std::vector<Json> journal = experiment.begin(0, {}, {}).journal;

  void begin_proposal() { add(experiment.proposing(0, planner.told())); }
  void write(Planned planned) { add(experiment.proposed(0, std::move(planned))); }
  void result(std::int64_t trial, double accuracy) {
    journal.push_back({{"event", "ended"},
                       {"trial", trial},
                       {"status", "ok"},
                       {"final", true},
                       {"accuracy", accuracy}});
  }
  // The first `count` proposals, each of which knows all results but the last; the last one is not
  // written yet.
  Planned last_of(int count) {
    for (int trial = 0; trial < count - 1; ++trial) {
      begin_proposal();
      const Planned planned = planner.propose();
      if (trial > 0) told(trial - 1);
      write(planned);
    }
    begin_proposal();
    Planned last = planner.propose();
    told(count - 2);
    return last;
  }

 private:
  void add(const Experiment::Actions& actions) {
    for (const Json& event : actions.journal) journal.push_back(event);
  }
  void told(std::int64_t trial) {
    const double accuracy = 0.3 + 0.05 * static_cast<double>(trial % 7);
    result(trial, accuracy);
    planner.tell(trial, accuracy);
  }
};

std::vector<Json> operations_of(const Planned& planned) {
  std::vector<Json> all;
  for (const Operation& operation : planned.proposal.operations) all.push_back(to_json(operation));
  return all;
}

TEST(Planner, AProposalThatWasUnderWayIsMadeAgainWithWhatItKnew) {
  SlowSearch undisturbed;
  const Planned expected = undisturbed.last_of(12);
  ASSERT_EQ(expected.known_results, 10);

  Planner again(one_worker());
  EXPECT_EQ(again.replay(undisturbed.journal, "journal").size(), 11U);
  EXPECT_EQ(again.under_way(), 1);
  EXPECT_EQ(again.told(), 11);
  const Planned repeated = again.propose();
  EXPECT_EQ(repeated.known_results, 10);
  EXPECT_EQ(repeated.proposal.parent, expected.proposal.parent);
  EXPECT_EQ(operations_of(repeated), operations_of(expected));
  EXPECT_EQ(repeated.point, expected.point);
  EXPECT_EQ(again.under_way(), 0);
  EXPECT_EQ(again.propose().known_results, 11);
}

TEST(Planner, ResultsThatComeBeforeItIsMadeWait) {
  SlowSearch undisturbed;
  const Planned expected = undisturbed.last_of(12);
  undisturbed.journal.pop_back();  // the result of trial 10
  Planner again(one_worker());
  (void)again.replay(undisturbed.journal, "journal");
  again.tell_failed(10, "out of memory");
  EXPECT_EQ(again.told(), 11);
  const Planned repeated = again.propose();
  EXPECT_EQ(repeated.known_results, expected.known_results);
  EXPECT_EQ(operations_of(repeated), operations_of(expected));
}

TEST(Planner, AJournalThatDoesNotSayWhenProposalsBeganKnowsAllResults) {
  SlowSearch undisturbed;
  (void)undisturbed.last_of(6);
  std::erase_if(undisturbed.journal,
                [](const Json& event) { return event["event"] == "proposing"; });
  Planner again(one_worker());
  (void)again.replay(undisturbed.journal, "journal");
  EXPECT_EQ(again.under_way(), 0);
  EXPECT_EQ(again.propose().known_results, 5);
}

}  // namespace
}  // namespace assay::automl
