// Where numbers that are not finite began, from what each rank has.
#include <cmath>

#include <gmock/gmock.h>

#include "train/loop/not_finite.h"

namespace assay::train {
namespace {

const double kNan = std::nan("");

TEST(NotFiniteOriginTest, IsTheRankWhoseParametersAreNot) {
  EXPECT_EQ(origin_of({{kNan, "", "norm"}, {kNan, "blocks.1.out", "norm"}}),
            "rank 1: parameter blocks.1.out has values that are not finite");
}

TEST(NotFiniteOriginTest, IsTheRankThatDiffersFromTheOthersByItsLoss) {
  EXPECT_EQ(origin_of({{2.5, "", "norm"}, {2.5, "", "norm"}, {kNan, "", "norm"}}),
            "rank 2: the loss of its samples is nan");
}

TEST(NotFiniteOriginTest, IsAGradientWhereRanksDoNotDiffer) {
  EXPECT_EQ(origin_of({{2.5, "", ""}, {2.5, "", "blocks.0.qkv"}}),
            "all parameters and losses are finite; the gradient of blocks.0.qkv is not");
  EXPECT_EQ(origin_of({{INFINITY, "", "norm"}, {INFINITY, "", "norm"}}),
            "all parameters are finite, and no loss is; the gradient of norm is not");
}

TEST(NotFiniteOriginTest, NamesNoMoreRanksThanOneReads) {
  const std::vector<RankNumbers> ranks(9, {kNan, "norm", "norm"});
  EXPECT_THAT(origin_of(ranks), ::testing::EndsWith("finite; 5 ranks more"));
}

}  // namespace
}  // namespace assay::train
