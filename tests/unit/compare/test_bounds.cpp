#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build_runs.h"
#include "compare/change_bounds.h"
#include "error_of.h"

namespace assay::compare {
namespace {

using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> texts(const Comparisons& found, const std::string& text) {
  const Bound bound = parse_bound(text);
  std::vector<std::string> out;
  for (const Excess& excess : exceeded(found, std::span(&bound, 1))) out.push_back(excess.text);
  return out;
}

TEST(Bounds, AreReadAndCheckedAgainstCertainChanges) {
  const Comparisons found = compared(make_run({make_case("a", {100, 101, 99, 100.5, 99.5})}),
                                     make_run({make_case("a", {95, 96, 94.5, 95.2, 94.8})}));
  const auto over = [&](const std::string& text) { return texts(found, text); };
  EXPECT_THAT(over("throughput: 2 %"), ElementsAre(HasSubstr("worse by 4.9 %")));
  EXPECT_THAT(over("headline:2%"), ElementsAre(HasSubstr("steady_throughput")));
  EXPECT_TRUE(over("throughput: 10 %").empty());
  EXPECT_THAT(over("energy_j: 1 %"), ElementsAre(HasSubstr("no case")));
}

TEST(Bounds, ThatAreNoneAreRefused) {
  for (const std::string wrong : {"", "throughput", "throughput: x %", "throughput: 2", ": 2 %",
                                  "a: -1 %", "a: nan %", "a: inf %", "a: 1e999 %", "a: 2 % %",
                                  "a: %", "a: 0x10 %", "a: 2e6 %", ":", "%", "a:2 %b", "a: 2,5 %"})
    EXPECT_THAT(error_of([&] { return parse_bound(wrong); }), HasSubstr("not a valid bound"))
        << wrong;
  const std::string huge(1'000'000, '9');
  EXPECT_LT(error_of([&] { return parse_bound("a: " + huge + " %"); }).size(), 300);
  EXPECT_THAT(error_of([] { return parse_bound("\x1b[31ma: x %"); }), Not(HasSubstr("\x1b")));
}

TEST(Bounds, AreStricterThanTheTolerance) {
  Options wide;
  wide.tolerance = 0.5;
  const Comparisons found = compared(make_run({make_case("a", {100, 101, 99, 100.5, 99.5})}),
                                     make_run({make_case("a", {90, 91, 89.5, 90.2, 89.8})}), wide);
  ASSERT_EQ(found.sides.at(0).cases.at(0).metrics.at(0).verdict, Verdict::same);
  EXPECT_THAT(texts(found, "headline: 2 %"), ElementsAre(HasSubstr("worse by 9.")));
  EXPECT_THAT(texts(found, "headline: 9.9 %"), IsEmpty()) << "the interval reaches to less";
}

TEST(Bounds, WithinTheToleranceAskForACertainChange) {
  const Comparisons found = compared(make_run({make_case("a", {100, 100.4, 99.6, 100.2, 99.8})}),
                                     make_run({make_case("a", {99.9, 100.3, 99.5, 100.1, 99.7})}));
  ASSERT_EQ(found.sides.at(0).cases.at(0).metrics.at(0).verdict, Verdict::same);
  EXPECT_THAT(texts(found, "headline: 0 %"), IsEmpty()) << "no more than noise";
}

TEST(Bounds, MayHaveBlanksAndFractions) {
  EXPECT_DOUBLE_EQ(parse_bound("  steady_step_time :  0.5 % ").worse_by, 0.005);
  EXPECT_EQ(parse_bound("rate:of:mine: 1%").metric, "rate:of:mine");
  EXPECT_EQ(parse_bound("a: 0 %").worse_by, 0);
}

TEST(Bounds, FailForACaseThatCannotBeCompared) {
  const Comparisons found = compared(make_run({make_case("a", {100, 101, 99})}), make_run({}));
  EXPECT_THAT(texts(found, "headline: 2 %"),
              ElementsAre(HasSubstr("only in the base"), HasSubstr("no case")));
}

TEST(Bounds, DoNotAskForCasesThatTheBaseDoesNotHave) {
  const auto a = make_case("a", {100, 101, 99});
  const Comparisons found = compared(make_run({a}), make_run({a, make_case("b", {1, 2})}));
  EXPECT_THAT(texts(found, "headline: 2 %"), IsEmpty());
}

TEST(Bounds, DoNotAskForACaseThatNeitherSideWasMeantToRun) {
  judge::CaseResult skipped = make_case("b", {});
  skipped.skipped = judge::Skip{plan::SkipCause::condition, "a was fast enough"};
  const auto a = make_case("a", {100, 101, 99});
  EXPECT_THAT(texts(compared(make_run({a, skipped}), make_run({a, skipped})), "headline: 2 %"),
              IsEmpty());
  skipped.skipped->cause = plan::SkipCause::dependency;
  EXPECT_THAT(texts(compared(make_run({a, skipped}), make_run({a, skipped})), "headline: 2 %"),
              ElementsAre("b is not compared: the base skipped it: a was fast enough"));
}

TEST(Bounds, FailForWhatWasMeasuredOnceOnEachSide) {
  const Comparisons found =
      compared(make_run({make_case("a", {100})}), make_run({make_case("a", {50})}));
  EXPECT_THAT(texts(found, "headline: 2 %"),
              ElementsAre(HasSubstr("cannot be checked: one round")));
}

TEST(Bounds, FailForAMetricThatOneCaseHasLost) {
  const MetricInfo energy{"energy_j", "J", Better::lower, ""};
  const auto with_energy = [&](const char* name) {
    judge::CaseResult result = make_case(name, {100, 101, 99});
    const judge::CaseResult other = make_case(name, {5, 5.1, 4.9}, energy);
    result.summary.push_back(other.summary[0]);
    for (std::size_t i = 0; i < 3; ++i)
      result.rounds[i].metrics.push_back(other.rounds[i].metrics[0]);
    return result;
  };
  Options options;
  options.metrics = {"energy_j"};
  const Comparisons found =
      compared(make_run({with_energy("a"), with_energy("b")}),
               make_run({with_energy("a"), make_case("b", {100, 101, 99})}), options);
  EXPECT_THAT(texts(found, "energy_j: 5 %"),
              ElementsAre("b: energy_j cannot be checked: no round of the new one has it"));
}

TEST(Bounds, NameTheSideWhenThereAreSeveral) {
  const auto base = make_run({make_case("a", {100, 101, 99, 100.5, 99.5})});
  const std::vector<Side> others{{"good", {base}},
                                 {"bad", {make_run({make_case("a", {95, 96, 94, 95, 95.1})})}}};
  const Comparisons found = compare_sides({"base", {base}}, others, {});
  EXPECT_THAT(texts(found, "headline: 2 %"), ElementsAre(HasSubstr("bad: a: steady_throughput")));
}

}  // namespace
}  // namespace assay::compare
