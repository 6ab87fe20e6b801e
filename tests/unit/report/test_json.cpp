#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "demo.h"
#include "golden.h"
#include "needs.h"
#include "report/json_report.h"
#include "temporary_folder.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kCheck = R"(
import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
errors = list(jsonschema.Draft7Validator(schema).iter_errors(json.load(open(sys.argv[2]))))
for error in errors:
    print("/".join(map(str, error.absolute_path)), error.message)
sys.exit(1 if errors else 0)
)";

// 0: conforms, 1: does not, 77: cannot be checked here.
int check_schema(const std::string& json, std::string& problems) {
  static const std::string python = needs::python_with("jsonschema");
  if (python.empty()) return 77;
  const testing::TemporaryFolder folder;
  const auto path = folder.write("result.json", json);
  const auto result =
      run_command({python, "-c", kCheck, ASSAY_SOURCE_DIR "/docs/result.schema.json", path});
  problems = result.out + result.err;
  return result.status.code.value_or(1);
}

TEST(Json, MatchesTheGoldenFile) {
  expect_golden(render_json(small_result()), "small.result.json");
}

TEST(Json, SameResultGivesTheSameBytes) {
  EXPECT_EQ(render_json(demo_result()), render_json(demo_result()));
}

TEST(Json, KeepsNumbersAndTextExactly) {
  judge::RunResult run = demo_result();
  run.cases[0].rounds[0].metrics[0].value = 0.1 + 0.2;
  run.cases[0].rounds[0].ranks[0].steps = INT64_MAX;
  run.cases[0].rounds[0].ranks[0].dropped_bytes = UINT64_MAX;
  run.cases[0].name = "名前 \"quoted\" \\ </script>\n";
  const std::string text = render_json(run);
  const Json json = parse_json(text, "result.json");
  EXPECT_EQ(dump_pretty(json), text);
  const Json& first = json["cases"][0];
  const Json& round = first["rounds"][0];
  const MetricInfo& metric = run.cases[0].rounds[0].metrics[0].info;
  EXPECT_EQ(round["metrics"][metric.name]["value"], 0.1 + 0.2);
  EXPECT_EQ(round["metrics"][metric.name]["description"], metric.description);
  EXPECT_EQ(round["ranks"][0]["steps"], INT64_MAX);
  EXPECT_EQ(round["ranks"][0]["dropped_bytes"], UINT64_MAX);
  EXPECT_EQ(first["name"], run.cases[0].name);
  EXPECT_EQ(json["cases"][2]["rounds"][0]["ranks"][3]["exit"]["signal"], 11);
  EXPECT_EQ(json["cases"][2]["rounds"][1]["status"], "not_run");
  EXPECT_FALSE(round.contains("series"));
}

TEST(Json, TellsWhereTheTimeOfARoundWent) {
  const Json json = parse_json(render_json(demo_result()), "result.json");
  const Json& round = json["cases"][0]["rounds"][0];
  double sum = 0;
  for (const Json& share : round["time_shares"]) sum += share["seconds"].get<double>();
  EXPECT_DOUBLE_EQ(sum, round["wall_s"].get<double>());
  const Json first{{"name", "launch"}, {"title", "Launch"}, {"seconds", 0.31}};
  EXPECT_EQ(round["time_shares"][0], first);
}

TEST(Json, KeepsWarmUpRoundsApart) {
  judge::RunResult run = demo_result();
  judge::CaseResult& one = run.cases[0];
  one.warmup_rounds = {one.rounds[0]};
  one.warmup_rounds[0].warmup = true;
  one.repeats_ended = "it is certain";
  const Json json = parse_json(render_json(run), "result.json")["cases"][0];
  EXPECT_EQ(json["rounds"].size(), one.rounds.size());
  EXPECT_EQ(json["warmup_rounds"][0]["round"], 1);
  EXPECT_EQ(json["repeats_ended"], "it is certain");
  std::string problems;
  if (check_schema(render_json(run), problems) == 77)
    GTEST_SKIP() << needs::package("python3-jsonschema");
  EXPECT_EQ(problems, "");
}

TEST(Json, SweepsSkippedCasesAndHooksConformToTheSchema) {
  std::string problems;
  if (check_schema(render_json(sweep_result()), problems) == 77)
    GTEST_SKIP() << needs::package("python3-jsonschema");
  EXPECT_EQ(problems, "");
}

TEST(Json, RankThatNeverEndedHasNoExit) {
  judge::RunResult run = small_result();
  run.cases[0].rounds[0].ranks[0].exit.reset();
  const Json json = result_to_json(run);
  EXPECT_TRUE(json["cases"][0]["rounds"][0]["ranks"][0]["exit"].is_null());
}

TEST(Json, NumbersThatAreNotFiniteAreLeftOut) {
  judge::RunResult run = small_result();
  run.cases[0].rounds[0].metrics[0].value = std::numeric_limits<double>::quiet_NaN();
  run.cases[0].rounds[0].ranks[0].mean_step_s = std::numeric_limits<double>::infinity();
  run.cases[0].summary[0].mean = std::numeric_limits<double>::infinity();
  run.cases[0].rounds[0].phases[0].end_s = std::numeric_limits<double>::quiet_NaN();
  const std::string text = render_json(run);
  EXPECT_THAT(text, Not(HasSubstr(": null")));
  std::string problems;
  if (check_schema(text, problems) == 77) GTEST_SKIP() << needs::package("python3-jsonschema");
  EXPECT_EQ(check_schema(text, problems), 0) << problems;
}

TEST(Json, InvalidUtf8BecomesValidJson) {
  judge::RunResult run = small_result();
  run.cases[0].rounds[0].reason = "bad \xff\xfe bytes";
  EXPECT_NO_THROW((void)parse_json(render_json(run), "r"));
}

TEST(Json, ConformsToTheSchema) {
  for (const judge::RunResult& run : {demo_result(), small_result(), wide_result(8)}) {
    std::string problems;
    const int status = check_schema(render_json(run), problems);
    if (status == 77) GTEST_SKIP() << needs::package("python3-jsonschema");
    EXPECT_EQ(status, 0) << problems;
  }
}

TEST(Json, SchemaRejectsWhatIsNotAResult) {
  for (const char* pointer :
       {"/unknown", "/cases/0/unknown", "/cases/0/rounds/0/unknown",
        "/cases/0/rounds/0/ranks/0/unknown", "/cases/0/summary/p_whole/unknown",
        "/cases/0/rounds/0/metrics/p_whole/unknown"}) {
    Json json = result_to_json(small_result());
    json[Json::json_pointer(pointer)] = 1;
    std::string problems;
    const int status = check_schema(dump_pretty(json), problems);
    if (status == 77) GTEST_SKIP() << needs::package("python3-jsonschema");
    EXPECT_EQ(status, 1) << pointer;
  }
}

TEST(Json, SchemaRejectsAMissingField) {
  Json json = result_to_json(small_result());
  json["cases"][0]["rounds"][0].erase("status");
  std::string problems;
  const int status = check_schema(dump_pretty(json), problems);
  if (status == 77) GTEST_SKIP() << needs::package("python3-jsonschema");
  EXPECT_EQ(status, 1);
  EXPECT_THAT(problems, HasSubstr("cases/0/rounds/0 'status'"));
}

TEST(Json, SchemaRejectsWrongTypesAndVersions) {
  const auto fails = [](const char* pointer, const Json& value) {
    Json json = result_to_json(small_result());
    json[Json::json_pointer(pointer)] = value;
    std::string problems;
    const int status = check_schema(dump_pretty(json), problems);
    EXPECT_TRUE(status == 1 || status == 77) << pointer << " " << value;
  };
  fails("/schema_version", 2);
  fails("/schema_version", "1");
  fails("/cases", Json::object());
  fails("/cases/0/nodes", 1.5);
  fails("/cases/0/validity", "MAYBE");
  fails("/cases/0/rounds/0/metrics", Json::array());
  fails("/cases/0/rounds/0/metrics/p_whole/value", nullptr);
  fails("/cases/0/rounds/0/ranks/0/dropped_bytes", -1);
  fails("/cases/0/rounds/0/ranks/0/exit", 3);
}

}  // namespace
}  // namespace assay::report
