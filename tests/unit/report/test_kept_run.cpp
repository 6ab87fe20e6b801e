// A run of an earlier version stays readable, and its numbers stay the same.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/files.h"
#include "judge/judge.h"
#include "report/json_report.h"
#include "report/present.h"

namespace assay::report {
namespace {

using ::testing::IsEmpty;

const std::filesystem::path kKept =
    std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/fixtures/run-0.1";

// Texts for people may be worded better; everything else is the same.
bool is_prose(const std::string& key) {
  static const std::set<std::string> kProse{"note", "description", "reason", "advice", "where"};
  return kProse.contains(key);
}

void compare(const Json& kept, const Json& now, const std::string& place,
             std::vector<std::string>& differences) {
  if (kept.is_number() && now.is_number()) {
    const double a = kept.get<double>();
    const double b = now.get<double>();
    if (std::abs(a - b) > 1e-9 * std::max(std::abs(a), std::abs(b)))
      differences.push_back(fmt::format("{}: {} is now {}", place, a, b));
  } else if (kept.is_object() && now.is_object()) {
    for (const auto& [key, value] : kept.items())
      if (!is_prose(key))
        compare(value, now.contains(key) ? now[key] : Json(), place + "/" + key, differences);
  } else if (kept.is_array() && now.is_array() && kept.size() == now.size()) {
    for (std::size_t i = 0; i < kept.size(); ++i)
      compare(kept[i], now[i], fmt::format("{}/{}", place, i), differences);
  } else if (kept != now) {
    differences.push_back(fmt::format("{}: {} is now {}", place, kept.dump(), now.dump()));
  }
}

void rename_key(Json& object, const std::string& from, const std::string& to) {
  if (!object.contains(from)) return;
  object[to] = object[from];
  object.erase(from);
}

TEST(KeptRun, HasTheSameNumbersAsWhenItWasMade) {
  Json kept = parse_json(read_file(kKept / "result.json"), "result.json");
  // Since then `converged` is only there where there is a target.
  for (Json& one : kept["cases"]) {
    one["summary"].erase("converged");
    for (Json& round : one["rounds"]) round["metrics"].erase("converged");
    // Then, they were of the whole training; and so was every headline.
    EXPECT_EQ(one["headline"], "p_whole");
    one.erase("headline");
    rename_key(one["summary"], "mfu", "mfu_whole");
    rename_key(one["summary"], "achieved_flops", "achieved_flops_whole");
    for (Json& round : one["rounds"]) {
      rename_key(round["metrics"], "mfu", "mfu_whole");
      rename_key(round["metrics"], "achieved_flops", "achieved_flops_whole");
    }
  }
  const Json now = result_to_json(judge::judge_run(store::RunDir::open(kKept / "run")));
  std::vector<std::string> differences;
  compare(kept, now, "", differences);
  EXPECT_THAT(differences, IsEmpty());
}

TEST(KeptRun, HasTheHeadlinesThatItsCasesAskFor) {
  const judge::RunResult now = judge::judge_run(store::RunDir::open(kKept / "run"));
  EXPECT_EQ(now.cases.at(0).headline, "steady_throughput") << "a fixed length";
  EXPECT_EQ(now.cases.at(1).headline, "time_to_target") << "a target";
  EXPECT_EQ(now.cases.at(1).beside, "steady_throughput");
}

TEST(KeptRun, SaysThatNothingShowsWhetherItWasChanged) {
  const judge::RunResult now = judge::judge_run(store::RunDir::open(kKept / "run"));
  const auto found = std::ranges::find(now.findings, "run-sealed", &judge::Finding::rule);
  ASSERT_NE(found, now.findings.end());
  EXPECT_EQ(found->severity, judge::Severity::incomplete);
  EXPECT_EQ(now.seal.state, judge::Soundness::unknown);
}

TEST(KeptRun, SaysThatNobodyCouldSeeTheDevicesThatItNames) {
  const judge::RunResult now = judge::judge_run(store::RunDir::open(kKept / "run"));
  const auto found = std::ranges::find(now.findings, "hardware-named", &judge::Finding::rule);
  ASSERT_NE(found, now.findings.end());
  EXPECT_EQ(found->severity, judge::Severity::warning) << "its vendor has no way to list devices";
}

TEST(KeptRun, SaysHowItsRulesDifferFromThoseOfThisVersion) {
  const judge::RunResult now = judge::judge_run(store::RunDir::open(kKept / "run"));
  const std::vector<ChangedRule> changed = changed_rules(now.cases.at(0));
  ASSERT_FALSE(changed.empty());
  EXPECT_TRUE(changed.back().relaxed);
  EXPECT_THAT(changed.back().text,
              ::testing::HasSubstr("rules are not in the plan, which Assay 0.1"));
  EXPECT_THAT(changed.back().text, ::testing::HasSubstr("evidence-listed"));
  EXPECT_LT(changed.size(), 12U) << "one line for all that are newer than the plan";
}

TEST(KeptRun, IsNotEmpty) {
  const Json kept = parse_json(read_file(kKept / "result.json"), "result.json");
  const Json& metrics = kept["cases"][1]["rounds"][0]["metrics"];
  for (const char* name : {"p_whole", "step_time_p50", "energy_j", "device_util", "final_acc",
                           "mfu", "rate", "time_to_target", "harness_overhead"})
    EXPECT_TRUE(metrics.contains(name)) << name;
}

}  // namespace
}  // namespace assay::report
