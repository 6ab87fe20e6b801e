// assay compare on real runs.

#include <gmock/gmock.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::HasSubstr;

class Compare : public AssayTest {
 protected:
  // Five rounds of steps that take so long; the folder of the run.
  [[nodiscard]] std::string run(const std::string& name, double step_ms) const {
    const fs::path suite =
        write("compare.yaml",
              "name: compare\n"
              "defaults: {rules: {repeat-spread: {max: 1}, interval-width: {max: 1}}}\n"
              "cases: [{case: null:native:cpu:1:1:5, config: {steps: 40, step_ms: " +
                  std::to_string(step_ms) + "}}]\n");
    const CommandResult result = assay({"run", suite.string(), "--out", (folder_ / name).string()});
    EXPECT_EQ(result.status.code, 0) << result.out << result.err;
    return (folder_ / name / "latest").string();
  }
};

// The steps of `null` keep to their deadlines, so that also a busy machine measures 5 %.
TEST_F(Compare, APlantedSlowdownOfFivePercentIsFoundAndEndsWithSeven) {
  const std::string before = run("before", 20);
  const std::string after = run("after", 21);
  const std::string page = (folder_ / "comparison.html").string();
  const CommandResult found =
      assay({"compare", "--fail-on", "throughput: 2 %", before, after, "--format", "json"});
  EXPECT_EQ(found.status.code, 7) << found.out << found.err;
  EXPECT_THAT(found.err, HasSubstr("worse by"));
  const Json headline = Json::parse(found.out)["new"][0]["cases"][0]["metrics"][0];
  EXPECT_EQ(headline["verdict"], "SLOWER");
  // Steps of 21 ms instead of 20: by 4.8 %, and by more where other programs take the processor.
  EXPECT_LT(headline["change"].get<double>(), -0.02);
  EXPECT_GT(headline["change"].get<double>(), -0.3);
  EXPECT_TRUE(headline.contains("steps_interval95")) << headline;
  EXPECT_EQ(assay({"compare", before, after, "--fail-on", "throughput: 50 %"}).status.code, 0);
  EXPECT_EQ(assay({"compare", after, before, "--fail-on", "throughput: 2 %"}).status.code, 0)
      << "it became faster";

  EXPECT_EQ(assay({"compare", before, after, "-o", page}).status.code, 0);
  EXPECT_THAT(read_file(page), HasSubstr("data-label=\"base, round"));
  const CommandResult junit =
      assay({"compare", before, after, "--fail-on", "throughput: 2 %", "--format", "junit"});
  EXPECT_EQ(junit.status.code, 7);
  EXPECT_THAT(junit.out, HasSubstr("failures=\"1\""));
}

TEST_F(Compare, WhatIsWrongOnTheCommandLineIsSaidBeforeAnythingIsRead) {
  const CommandResult bound = assay({"compare", "a", "b", "--fail-on", "throughput: much"});
  EXPECT_EQ(bound.status.code, 2);
  EXPECT_THAT(bound.err, HasSubstr("not a valid bound"));
  const CommandResult output = assay({"compare", "a", "b", "-o", "/dev/null"});
  EXPECT_EQ(output.status.code, 2);
  EXPECT_THAT(output.err, HasSubstr("/dev/null"));
}

TEST_F(Compare, ARunAgainstItselfIsTheSameToTheLastDigit) {
  const std::string before = run("before", 20);
  const CommandResult found = assay({"compare", before, before, "--format", "json"});
  EXPECT_EQ(found.status.code, 0) << found.err;
  EXPECT_EQ(Json::parse(found.out)["new"][0]["cases"][0]["metrics"][0]["change"], 0);
  EXPECT_TRUE(Json::parse(found.out)["new"][0]["differences"].empty());
}

TEST_F(Compare, ARunThatWasChangedIsNotCompared) {
  const std::string before = run("before", 20);
  const std::string after = run("after", 20);
  const Json ranks = read_json(fs::path(after) / "result.json")["cases"][0]["rounds"][0]["ranks"];
  const fs::path log = fs::path(after) / ranks[0]["log"].get<std::string>();
  std::string text = read_file(log);
  text.replace(text.find("\"samples\": 32"), 13, "\"samples\": 99");
  write_file_atomic(log, text);
  const CommandResult found = assay({"compare", before, after, "--fail-on", "headline: 50 %"});
  EXPECT_EQ(found.status.code, 7) << found.out;
  EXPECT_THAT(found.out, HasSubstr("not compared"));
}

TEST_F(Compare, WhatIsNotARunIsAnErrorThatNamesIt) {
  const CommandResult found = assay({"compare", folder_.string(), folder_.string()});
  EXPECT_EQ(found.status.code, 2);
  EXPECT_THAT(found.err, HasSubstr(folder_.string()));
}

}  // namespace assay::e2e
