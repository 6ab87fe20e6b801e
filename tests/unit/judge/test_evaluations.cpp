#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build_evidence.h"

namespace assay::judge {
namespace {

using testing::case_plan;
using testing::constant_rank;
using testing::round_of;
using testing::stamp;

// Training begins at 2 s; steps of 0.1 s with 32 samples end at 2.1, 2.2, …
RankEvidence evaluated(int rank) {
  RankEvidence out = constant_rank(rank);
  for (const double end : {4.55, 7.05}) {
    Evaluation evaluation;
    evaluation.at = stamp(end);
    evaluation.seconds = 0.02;
    evaluation.values = {{"eval_accuracy", end / 10}};
    out.log.evaluations.push_back(evaluation);
  }
  return out;
}

TEST(Evaluations, EachHasItsValuesAndWhatWasTrainedBefore) {
  const RoundResult round =
      judge_round(case_plan(1, 2), round_of({evaluated(0), constant_rank(1)}));
  ASSERT_EQ(round.evaluations.size(), 2U);
  EXPECT_NEAR(round.evaluations[0].start_s, 4.53, 1e-6);
  EXPECT_NEAR(*round.evaluations[0].trained, 25.0 / 100, 1e-9);
  EXPECT_NEAR(*round.evaluations[1].trained, 50.0 / 100, 1e-9);
  EXPECT_EQ(round.evaluations[1].values.at(0).second, 0.705);
}

TEST(Evaluations, WithoutSampleCountsStepsAreASubstitute) {
  RankEvidence rank = evaluated(0);
  rank.log.samples = {};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*round.evaluations[0].trained, 25.0 / 100, 1e-9);
  EXPECT_FALSE(round.evaluations[0].trained_exactly);
}

// Jobs of a service.

RankEvidence of_service(double late_s, bool told) {
  RankEvidence rank = constant_rank(0);
  rank.learned = rank.start;
  rank.learned_late_s = late_s;
  rank.by_service = told;
  return rank;
}

const Metric* find(const RoundResult& round, const std::string& name) {
  for (const Metric& metric : round.metrics)
    if (metric.info.name == name) return &metric;
  return nullptr;
}

TEST(ServiceTimes, OfTheServiceAreMeasuredAndThoseOfPollsEstimated) {
  const RoundResult told = judge_round(case_plan(), round_of({of_service(5, true)}));
  EXPECT_EQ(find(told, "e2e_time")->origin, Origin::measured);
  EXPECT_THAT(find(told, "e2e_time")->note, ::testing::HasSubstr("service's clock"));
  const RoundResult polled = judge_round(case_plan(), round_of({of_service(5, false)}));
  EXPECT_EQ(find(polled, "e2e_time")->origin, Origin::estimated);
  EXPECT_THAT(find(polled, "e2e_time")->note, ::testing::HasSubstr("within 5 s"));
}

}  // namespace
}  // namespace assay::judge
