#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/tpe.h"
#include "error_of.h"
#include "stats/descriptive.h"

namespace assay::automl {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

Parameter real(const std::string& name, double low, double high) {
  Parameter p;
  p.name = name;
  p.low = low;
  p.high = high;
  return p;
}

std::vector<double> coordinates(const Point& point) {
  std::vector<double> x;
  for (const auto& [name, value] : point) x.push_back(value);
  return x;
}

Space box(int dimensions, double low, double high) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < dimensions; ++i)
    parameters.push_back(real("x" + std::to_string(i), low, high));
  return Space(parameters);
}

double branin(const Point& point) {
  using std::numbers::pi;
  const double x = point.at("x");
  const double y = point.at("y");
  const double a = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
  return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}

double hartmann6(const Point& point) {
  const std::vector<double> x = coordinates(point);
  constexpr double alpha[4] = {1.0, 1.2, 3.0, 3.2};
  constexpr double a[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                              {0.05, 10, 17, 0.1, 8, 14},
                              {3, 3.5, 1.7, 10, 17, 8},
                              {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double p[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                              {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                              {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                              {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double inner = 0;
    for (int j = 0; j < 6; ++j) inner += a[i][j] * (x[j] - p[i][j]) * (x[j] - p[i][j]);
    sum -= alpha[i] * std::exp(-inner);
  }
  return sum;
}

double ackley(const Point& point) {
  double squares = 0;
  double waves = 0;
  const std::vector<double> x = coordinates(point);
  for (const double v : x) {
    squares += v * v;
    waves += std::cos(2 * std::numbers::pi * v);
  }
  const auto n = static_cast<double>(x.size());
  return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(waves / n) + 20 + std::numbers::e;
}

Space mixed_space() {
  return Space::parse(parse_json(R"({
    "lr": {"type": "loguniform", "low": 1e-5, "high": 1},
    "batch": {"type": "uniform", "low": 32, "high": 512, "step": 32},
    "optimizer": {"type": "choice", "options": ["sgd", "adam", "lamb"]},
    "momentum": {"type": "uniform", "low": 0, "high": 0.99, "when": {"optimizer": ["sgd"]}},
    "beta": {"type": "uniform", "low": 0.5, "high": 0.999, "when": {"optimizer": ["adam", "lamb"]}}
  })",
                                 "space"),
                      "space");
}

// Smallest, 0, with sgd at momentum 0.9, learning rate 0.01 and batch 256.
double mixed(const Point& point) {
  const double base =
      std::pow(std::log10(point.at("lr")) + 2, 2) + std::pow((point.at("batch") - 256) / 128, 2);
  if (point.at("optimizer") == 0) return base + 4 * std::pow(point.at("momentum") - 0.9, 2);
  return base + point.at("optimizer") + 4 * std::pow(point.at("beta") - 0.9, 2);
}

double best_of(const Space& space, const std::function<double(const Point&)>& f, TpeOptions o,
               int budget) {
  Tpe tpe(space, o);
  for (int i = 0; i < budget; ++i) {
    const auto p = tpe.propose();
    tpe.tell(p.id, f(p.point));
  }
  return *tpe.trials()[*tpe.best()].value;
}

void expect_better_than_random(const Space& space, const std::function<double(const Point&)>& f,
                               int budget) {
  std::vector<double> informed;
  std::vector<double> random;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TpeOptions o;
    o.seed = seed;
    informed.push_back(best_of(space, f, o, budget));
    o.startup = budget;  // random to the end
    o.seed = seed + 100;
    random.push_back(best_of(space, f, o, budget));
  }
  ::testing::Test::RecordProperty("tpe", std::to_string(*stats::median(informed)));
  ::testing::Test::RecordProperty("random", std::to_string(*stats::median(random)));
  EXPECT_LT(*stats::median(informed), *stats::median(random));
}

TEST(Tpe, IsBetterThanRandomOnBranin) {
  expect_better_than_random(Space({real("x", -5, 10), real("y", 0, 15)}), branin, 80);
}
TEST(Tpe, IsBetterThanRandomOnHartmann6) {
  expect_better_than_random(box(6, 0, 1), hartmann6, 100);
}
TEST(Tpe, IsBetterThanRandomOnAckley5) {
  expect_better_than_random(box(5, -32.768, 32.768), ackley, 100);
}
TEST(Tpe, IsBetterThanRandomOnAMixedConditionalSpace) {
  expect_better_than_random(mixed_space(), mixed, 80);
}

TEST(TestFunctions, HaveTheirKnownMinima) {
  EXPECT_NEAR(branin({{"x", std::numbers::pi}, {"y", 2.275}}), 0.397887, 1e-5);
  EXPECT_NEAR(hartmann6({{"x0", 0.20169},
                         {"x1", 0.150011},
                         {"x2", 0.476874},
                         {"x3", 0.275332},
                         {"x4", 0.311652},
                         {"x5", 0.6573}}),
              -3.32237, 1e-4);
  EXPECT_NEAR(ackley({{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}, {"e", 0}}), 0, 1e-12);
}

TEST(Tpe, ProposesOnlyPointsOfTheSpace) {
  Tpe tpe(mixed_space(), {});
  std::set<double> batches;
  for (int i = 0; i < 120; ++i) {
    const auto p = tpe.propose();
    ASSERT_NO_THROW(tpe.space().check(p.point, "p"));
    ASSERT_EQ(std::fmod(p.point.at("batch"), 32), 0);
    ASSERT_EQ(p.point.contains("momentum"), p.point.at("optimizer") == 0);
    ASSERT_EQ(p.point.contains("beta"), p.point.at("optimizer") != 0);
    tpe.tell(p.id, mixed(p.point));
  }
}

TEST(Tpe, DoesNotStayWithAChoiceThatWasLuckyEarly) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TpeOptions o;
    o.seed = seed;
    Tpe tpe(mixed_space(), o);
    for (int i = 0; i < 120; ++i) {
      const auto p = tpe.propose();
      tpe.tell(p.id, mixed(p.point));
    }
    const Json values = tpe.space().values(tpe.trials()[*tpe.best()].point);
    EXPECT_EQ(values["optimizer"], "sgd") << seed;
  }
}

TEST(Tpe, RandomPointsOfALogarithmicRangeAreEvenInTheirLogarithm) {
  TpeOptions o;
  o.startup = 5000;
  Tpe tpe(mixed_space(), o);
  int below = 0;
  for (int i = 0; i < 4000; ++i) below += tpe.propose().point.at("lr") < std::sqrt(1e-5) ? 1 : 0;
  EXPECT_NEAR(below, 2000, 130);
}

TEST(Tpe, IsTheSameForASeedAndAcrossSaveAndRestore) {
  TpeOptions o;
  o.seed = 9;
  Tpe tpe(mixed_space(), o);
  for (int i = 0; i < 25; ++i) {
    const auto p = tpe.propose();
    if (i % 7 == 6) tpe.tell_failed(p.id);
    if (i % 7 < 5) tpe.tell(p.id, mixed(p.point));
  }
  Tpe restored =
      Tpe::restore(mixed_space(), o, parse_json(dump_line(tpe.save()), "state"), "state");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tpe.propose().point, restored.propose().point);
}

TEST(Tpe, ParallelProposalsDiffer) {
  Tpe tpe(box(2, 0, 1), {});
  for (int i = 0; i < 20; ++i) {
    const auto p = tpe.propose();
    tpe.tell(p.id, p.point.at("x0"));
  }
  std::set<Point> seen;
  for (int i = 0; i < 16; ++i) seen.insert(tpe.propose().point);
  EXPECT_EQ(seen.size(), 16U);
}

TEST(Tpe, TakesTheCallersPointButOnlyOneOfTheSpace) {
  Tpe tpe(mixed_space(), {});
  EXPECT_EQ(tpe.enqueue({{"lr", 0.1}, {"batch", 64}, {"optimizer", 0}, {"momentum", 0.5}}).id, 0);
  EXPECT_THAT(error_of([&] { return tpe.enqueue({{"lr", 0.1}}).id; }), HasSubstr("'batch'"));
  EXPECT_THAT(
      error_of([&] {
        return tpe.enqueue({{"lr", 0.1}, {"batch", 64}, {"optimizer", 3}, {"momentum", 0.5}}).id;
      }),
      HasSubstr("'optimizer': 3 is outside"));
  EXPECT_THAT(error_of([&] {
                tpe.tell(0, NAN);
                return 0;
              }),
              HasSubstr("trial 0: the value is not a number"));
}

TEST(Space, WhatMakesNoSenseIsNamed) {
  const auto error = [](const char* text) {
    return error_of([&] { return Space::parse(parse_json(text, "s"), "suite.yaml:3"); });
  };
  EXPECT_THAT(error("{}"), HasSubstr("the search space is empty"));
  EXPECT_THAT(error(R"({"lr": {"type": "uniform", "low": 1, "high": 1}})"),
              HasSubstr("suite.yaml:3: parameter 'lr': the range from 1 to 1 is empty"));
  EXPECT_THAT(error(R"({"lr": {"type": "loguniform", "low": 0, "high": 1}})"),
              HasSubstr("must begin above 0"));
  EXPECT_THAT(error(R"({"lr": {"type": "uniform", "low": 0, "high": 1, "step": 2}})"),
              HasSubstr("a step of 2"));
  EXPECT_THAT(error(R"({"k": {"type": "choice", "options": []}})"), HasSubstr("has no options"));
  EXPECT_THAT(error(R"({"k": {"type": "normal"}})"), HasSubstr("'type' must be"));
  EXPECT_THAT(error(R"({"k": {"type": "uniform", "low": 0, "hihg": 1}})"),
              HasSubstr("unknown key 'hihg' (did you mean 'high'?)"));
  EXPECT_THAT(error(R"({"k": {"type": "uniform", "low": 0, "high": 1, "when": {"o": ["a"]}}})"),
              HasSubstr("'o' is not a choice before it"));
}

}  // namespace
}  // namespace assay::automl
