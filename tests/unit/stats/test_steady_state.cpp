#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/descriptive.h"
#include "stats/steady_state.h"

namespace assay::stats {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// What random series are made of; the steady level is `level` everywhere.
struct Shape {
  std::size_t steps = 1000;
  double level = 0.02;
  double noise = 0.005;      ///< coefficient of variation
  double correlation = 0;    ///< of a step's noise with that of the one before
  double drift = 0;          ///< relative change over the whole series
  std::size_t shift_at = 0;  ///< before it, steps take `shift` more of themselves
  double shift = 0;
  double decay = 0;  ///< the first steps take so much more, falling with
  double decay_steps = 1;
  double stalls = 0;       ///< share of steps that take 4 to 24 times as long
  std::size_t period = 0;  ///< every such step takes `slow` more
  double slow = 0;
  std::size_t tail = 0;  ///< so many steps at the end take 10 % more
};

struct Made {
  std::vector<double> seconds;
  double truth = 0;       ///< mean of the steps that are steady and no stalls
  double population = 0;  ///< what their mean is without noise
};

Made make(const Shape& shape, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<> normal;
  std::uniform_real_distribution<> uniform(0, 1);
  Made made;
  double error = 0;
  std::vector<double> steady;
  for (std::size_t i = 0; i < shape.steps; ++i) {
    const double at = static_cast<double>(i);
    error = shape.correlation * error +
            std::sqrt(1 - shape.correlation * shape.correlation) * normal(random);
    double seconds = shape.level * std::exp(shape.noise * error - shape.noise * shape.noise / 2);
    seconds *= 1 + shape.drift * (at / static_cast<double>(shape.steps) - 0.5);
    if (i < shape.shift_at) seconds *= 1 + shape.shift;
    seconds *= 1 + shape.decay * std::exp(-at / shape.decay_steps);
    if (shape.period > 0 && i % shape.period == shape.period - 1)
      seconds += shape.level * shape.slow;
    const bool stalled = uniform(random) < shape.stalls;
    if (stalled) seconds = shape.level * (4 + 20 * uniform(random));
    const bool ends = i + shape.tail >= shape.steps;
    if (ends) seconds *= 1.1;
    made.seconds.push_back(seconds);
    const bool settled = shape.decay <= 0 || at > 5 * shape.decay_steps;
    if (i >= shape.shift_at && settled && !ends && !stalled) steady.push_back(seconds);
  }
  made.truth = mean(steady).value_or(0);
  made.population =
      shape.level * (1 + (shape.period > 0 ? shape.slow / static_cast<double>(shape.period) : 0));
  return made;
}

double error_of(const SteadyState& found, const Made& made) {
  return std::abs(found.mean / made.truth - 1);
}

TEST(SteadyState, OfConstantStepsIsAllOfThem) {
  const auto found = find_steady_state(std::vector<double>(100, 0.25));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->settling, Settling::settled);
  EXPECT_EQ(found->first, 0U);
  EXPECT_EQ(found->end, 100U);
  EXPECT_EQ(found->mean, 0.25);
  EXPECT_EQ(found->median, 0.25);
  EXPECT_EQ(found->interval->low, 0.25);
}

TEST(SteadyState, BeginsAfterAStepInLevel) {
  const Made made = make({.shift_at = 400, .shift = 0.1}, 1);
  const auto found = find_steady_state(made.seconds);
  EXPECT_EQ(found->settling, Settling::settled);
  EXPECT_NEAR(static_cast<double>(found->first), 400, 8);
  EXPECT_EQ(found->end, 1000U);
  EXPECT_LT(error_of(*found, made), 0.001);
}

TEST(SteadyState, OfADeviceThatSlowsDownIsTheSlowerLevel) {
  const Made made = make({.shift_at = 300, .shift = -0.14}, 2);
  EXPECT_LT(error_of(*find_steady_state(made.seconds), made), 0.001);
}

TEST(SteadyState, BeginsWhenAWarmUpHasDecayed) {
  const Made made = make({.decay = 1, .decay_steps = 30}, 3);
  const auto found = find_steady_state(made.seconds);
  EXPECT_GT(found->first, 60U);
  EXPECT_LT(found->first, 300U);
  EXPECT_LT(error_of(*found, made), 0.003);
}

TEST(SteadyState, EndsBeforeTheLastStepsWhenTheyDiffer) {
  const Made made = make({.tail = 80}, 4);
  const auto found = find_steady_state(made.seconds);
  EXPECT_NEAR(static_cast<double>(found->end), 920, 8);
  EXPECT_LT(error_of(*found, made), 0.001);
}

TEST(SteadyState, HasItsStallsApart) {
  std::vector<double> seconds = make({.steps = 200}, 5).seconds;
  seconds[20] = 1;
  seconds[150] = 0.5;
  const auto found = find_steady_state(seconds);
  EXPECT_THAT(found->stalls, ElementsAre(20U, 150U));
  EXPECT_NEAR(found->mean, 0.02, 0.0001);
}

TEST(SteadyState, CountsSlowStepsThatComeAgainAndAgain) {
  // Every fifth step reads a new file: it takes four times as long, and is no stall.
  const Made made = make({.period = 5, .slow = 3}, 6);
  const auto found = find_steady_state(made.seconds);
  EXPECT_THAT(found->stalls, IsEmpty());
  EXPECT_LT(error_of(*found, made), 0.001);
}

TEST(SteadyState, LeavesOutASlowFirstStepThatIsNoStall) {
  std::vector<double> seconds(100, 0.02);
  seconds[0] = 0.055;
  const auto found = find_steady_state(seconds);
  EXPECT_EQ(found->first, 1U);
  EXPECT_NEAR(found->mean, 0.02, 1e-9);
}

TEST(SteadyState, DoesNotEndAtAShortDisturbance) {
  Made made = make({.steps = 200}, 7);
  for (std::size_t i = 100; i < 110; ++i) made.seconds[i] *= 1.05;
  const auto found = find_steady_state(made.seconds);
  EXPECT_EQ(found->settling, Settling::settled);
  EXPECT_GT(found->end - found->first, 150U);
}

TEST(SteadyState, OfStepsThatDriftIsSaidNotToHaveSettled) {
  for (const double drift : {0.1, 0.3, 1.0})
    for (const double noise : {0.001, 0.005, 0.02}) {
      const Made made = make({.noise = noise, .drift = drift}, 8);
      const auto found = find_steady_state(made.seconds);
      EXPECT_NE(found->settling, Settling::settled) << drift << " " << noise;
    }
}

TEST(SteadyState, OfStepsThatNeverSettleIsAllAfterTheWarmUp) {
  const Made made = make({.noise = 0.001, .drift = 0.5}, 9);
  const auto found = find_steady_state(made.seconds, 10);
  EXPECT_EQ(found->settling, Settling::no_level);
  EXPECT_EQ(found->first, 10U);
  EXPECT_EQ(found->end, 1000U);
}

TEST(SteadyState, OfNoiseAloneHasSettled) {
  // A loaded machine is no reason to say that nothing settled.
  int unsettled = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto found = find_steady_state(make({.steps = 100, .noise = 0.1}, seed).seconds);
    unsettled += found->settling == Settling::settled ? 0 : 1;
  }
  EXPECT_LE(unsettled, 4);
}

TEST(SteadyState, OfAFewStepsIsAllOfThemAndNotSettled) {
  const auto found = find_steady_state(std::vector<double>{9, 1, 2, 3}, 1);
  EXPECT_EQ(found->settling, Settling::too_few);
  EXPECT_EQ(found->mean, 2);
  EXPECT_EQ(found->first, 1U);
}

TEST(SteadyState, OfNothingIsNothing) {
  EXPECT_FALSE(find_steady_state({}));
  EXPECT_FALSE(find_steady_state(std::vector<double>{1, 2}, 2));
  EXPECT_FALSE(find_steady_state(std::vector<double>{1, 2}, 7));
  EXPECT_FALSE(find_steady_state(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}));
}

TEST(SteadyState, OfStepsWithoutTimeIsZero) {
  const auto found = find_steady_state(std::vector<double>(50, 0));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->mean, 0);
  EXPECT_THAT(found->stalls, IsEmpty());
}

TEST(SteadyState, SurvivesWhateverTheStepsAre) {
  std::mt19937_64 random(10);
  for (int i = 0; i < 500; ++i) {
    std::vector<double> seconds(random() % 300);
    for (double& value : seconds) value = std::exp(static_cast<double>(random() % 400) - 200);
    const auto found = find_steady_state(seconds, random() % 20);
    if (!found) continue;
    EXPECT_LT(found->first, found->end);
    EXPECT_LE(found->end, seconds.size());
    EXPECT_TRUE(std::isfinite(found->mean));
  }
}

/// A series of everything that steps do, of kind `seed` % 8.
Shape random_shape(unsigned seed) {
  std::mt19937_64 random(seed + 1'000'000);
  std::uniform_real_distribution<> uniform(0, 1);
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, uniform(random));
  };
  Shape shape;
  shape.steps = static_cast<std::size_t>(between(150, 4500));
  shape.level = between(1e-3, 1);
  shape.noise = between(0.001, 0.02);
  shape.correlation = uniform(random) < 0.5 ? 0 : 0.8 * uniform(random);
  const double steps = static_cast<double>(shape.steps);
  const unsigned kind = seed % 8;
  if (kind == 1 || kind == 2) {
    shape.shift_at = static_cast<std::size_t>(steps * (0.05 + 0.45 * uniform(random)));
    shape.shift = (uniform(random) < 0.5 ? -1 : 1) * (0.02 + 0.2 * uniform(random));
  }
  if (kind == 3 || kind == 4) {
    shape.decay = 0.05 + 2 * uniform(random);
    shape.decay_steps = steps * (0.01 + 0.04 * uniform(random));
  }
  if (kind == 2 || kind == 5) shape.stalls = 0.02 * uniform(random);
  if (kind == 6) {
    shape.period = 5 + static_cast<std::size_t>(45 * uniform(random));
    shape.slow = 0.1 + 1.5 * uniform(random);
  }
  if (kind == 7) shape.tail = static_cast<std::size_t>(steps * 0.1 * uniform(random));
  if (kind == 0) shape.drift = 0.008 * (uniform(random) - 0.5);
  return shape;
}

TEST(SteadyState, IsWithinHalfAPercentInAThousandRandomSeries) {
  int covered = 0;
  int unsettled = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const Made made = make(random_shape(seed), seed);
    const auto found = find_steady_state(made.seconds);
    ASSERT_TRUE(found);
    EXPECT_LT(error_of(*found, made), 0.005) << "series " << seed;
    ASSERT_TRUE(found->interval) << "series " << seed;
    covered += found->interval->low <= made.population && made.population <= found->interval->high;
    unsettled += found->settling == Settling::settled ? 0 : 1;
  }
  EXPECT_LE(unsettled, 5);
  EXPECT_GE(covered, 930) << "of 1000 intervals of 95 %";
  EXPECT_LE(covered, 985);
}

TEST(SteadyState, OfAMillionStepsTakesAMoment) {
  const Made made = make({.steps = 1'000'000, .correlation = 0.9}, 11);
  const auto found = find_steady_state(made.seconds);
  EXPECT_LT(error_of(*found, made), 0.001);
  ASSERT_TRUE(found->interval);
}

TEST(AutocorrelatedInterval, IsStudentsForIndependentValues) {
  int covered = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Made made = make({.steps = 200, .noise = 0.02}, seed);
    const auto interval = autocorrelated_mean_interval(made.seconds);
    ASSERT_TRUE(interval);
    covered += interval->low <= 0.02 && 0.02 <= interval->high;
  }
  EXPECT_NEAR(covered, 380, 14);
}

TEST(AutocorrelatedInterval, IsWiderWhereStepsDependOnTheOneBefore) {
  int covered = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Made made = make({.steps = 1000, .noise = 0.02, .correlation = 0.8}, seed);
    const auto interval = autocorrelated_mean_interval(made.seconds);
    ASSERT_TRUE(interval);
    covered += interval->low <= 0.02 && 0.02 <= interval->high;
  }
  EXPECT_NEAR(covered, 376, 18);
}

TEST(AutocorrelatedInterval, NeedsFourValues) {
  EXPECT_FALSE(autocorrelated_mean_interval(std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(autocorrelated_mean_interval({}));
}

}  // namespace
}  // namespace assay::stats
