// assay baseline, and suites that have one.

#include <gmock/gmock.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Baselines : public AssayTest {
 protected:
  // Five rounds of steps that take so long; the folder of the run.
  [[nodiscard]] fs::path run(const std::string& name, int step_ms,
                             const std::string& more = {}) const {
    const fs::path suite =
        write(name + ".yaml",
              "name: steps\n" + more +
                  "defaults: {rules: {repeat-spread: {max: 1}, interval-width: {max: 1}}}\n"
                  "cases: [{case: null:native:cpu:1:1:5, config: {steps: 30, step_ms: " +
                  std::to_string(step_ms) + "}}]\n");
    const CommandResult result = assay({"run", suite.string(), "--out", (folder_ / name).string()});
    EXPECT_EQ(result.status.code, 0) << result.out << result.err;
    return fs::canonical(folder_ / name / "latest");
  }
  // Half as fast is outside, whatever else the machine does is not.
  void make_baseline(const fs::path& of) const {
    const CommandResult made = assay(
        {"baseline", of.string(), "--tolerance", "45", "-o", (folder_ / "baseline.yaml").string()});
    ASSERT_EQ(made.status.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("1 entry in"));
  }
  [[nodiscard]] static Json finding(const fs::path& run, const std::string& rule) {
    const Json result = read_json(run / "result.json");
    for (const Json& found : result["cases"][0]["findings"])
      if (found["rule"] == rule) return found;
    return nullptr;
  }
};

TEST_F(Baselines, ACaseThatFallsBelowIsAFindingWithNumbers) {
  make_baseline(run("before", 20));
  const fs::path slow = run("slow", 80, "baseline: baseline.yaml\n");
  const Json found = finding(slow, "baseline-kept");
  ASSERT_FALSE(found.is_null());
  EXPECT_EQ(found["severity"], "warning");
  EXPECT_THAT(found["reason"].get<std::string>(),
              AllOf(HasSubstr("steady_throughput is"), HasSubstr("% from the median; expected are"),
                    HasSubstr("of 5 rounds in 1 run")));
  EXPECT_THAT(found["advice"].get<std::string>(), HasSubstr("assay compare"));
  EXPECT_TRUE(finding(slow, "baseline-known").is_null());
  // The plan has all of it: the file is needed no more.
  const std::string before = read_file(slow / "result.json");
  fs::remove(folder_ / "baseline.yaml");
  EXPECT_EQ(assay({"report", slow.string()}).status.code, 0);
  EXPECT_EQ(read_file(slow / "result.json"), before);
  EXPECT_EQ(read_json(slow / "plan.json")["baseline"]["sha256"],
            read_json(slow / "result.json")["provenance"]["baseline"]["sha256"]);
}

TEST_F(Baselines, ACaseThatIsAsItWasHasNoFinding) {
  make_baseline(run("before", 20));
  const fs::path same = run("same", 20, "baseline: baseline.yaml\n");
  for (const char* rule : {"baseline-kept", "baseline-known"})
    EXPECT_TRUE(finding(same, rule).is_null()) << finding(same, rule).dump();
}

TEST_F(Baselines, OtherHardwareIsSaidAndNotFine) {
  make_baseline(run("before", 20));
  std::string text = read_file(folder_ / "baseline.yaml");
  const std::size_t at = text.find("hardware: \"") + 11;
  text.replace(at, text.find('"', at) - at, "Cray-1, 1 core");
  write("baseline.yaml", text);
  const fs::path here = run("here", 20, "baseline: baseline.yaml\n");
  EXPECT_THAT(finding(here, "baseline-known")["reason"].get<std::string>(),
              AllOf(HasSubstr("no entry for this hardware"), HasSubstr("Cray-1, 1 core")));
  EXPECT_TRUE(finding(here, "baseline-kept").is_null());
}

TEST_F(Baselines, WhatIsWrongWithTheFileIsSaidBeforeAnythingRuns) {
  write("bad.yaml", "assay_baseline: 1\ncases:\n  - case: a\n    hardwear: b\n");
  const fs::path suite =
      write("suite.yaml", "baseline: bad.yaml\ncases: [null:native:cpu:1:1:1]\n");
  const CommandResult bad = assay({"run", suite.string(), "--dry-run"});
  EXPECT_EQ(bad.status.code, 2);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("bad.yaml:4:5"), HasSubstr("did you mean 'hardware'")));
  const fs::path plain = write("plain.yaml", "cases: [null:native:cpu:1:1:1]\n");
  const CommandResult none =
      assay({"run", plain.string(), "--dry-run", "--set", "baseline=no.yaml"});
  EXPECT_EQ(none.status.code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("--set"), HasSubstr("the baseline cannot be read")));
  EXPECT_EQ(assay({"run", plain.string(), "--dry-run", "--set", "baseline=off"}).status.code, 0);
}

}  // namespace assay::e2e
