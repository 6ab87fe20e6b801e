#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "error_of.h"
#include "report/json_report.h"
#include "report/read_result.h"

namespace assay::report {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

Json json_in(const std::string& name) {
  const auto path = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / name;
  return parse_json(read_file(path), path.string());
}

// What result.json holds and nobody reads back.
Json without_details(Json result) {
  for (const char* key : {"sweeps", "hooks"}) result.erase(key);
  for (Json& one : result["cases"]) {
    for (const char* key : {"sweep", "hooks"}) one.erase(key);
    for (const char* list : {"rounds", "warmup_rounds"})
      if (one.contains(list))
        for (Json& round : one[list])
          for (const char* key : {"phases", "ranks", "steady", "time_shares"}) round.erase(key);
  }
  return result;
}

TEST(ReadResult, WhatWasWrittenIsReadAgain) {
  const Json golden = json_in("golden/report/small.result.json");
  EXPECT_EQ(without_details(result_to_json(read_result(golden, "x"))), without_details(golden));
}

TEST(ReadResult, AnEarlierVersionsFileIsRead) {
  const Json old = json_in("fixtures/run-0.1/result.json");
  const judge::RunResult run = read_result(old, "x");
  EXPECT_EQ(run.run_id, old["run_id"]);
  ASSERT_EQ(run.cases.size(), old["cases"].size());
  EXPECT_EQ(to_text(run.cases[0].validity), old["cases"][0]["validity"]);
}

TEST(ReadResult, WhatIsNoResultIsRefused) {
  EXPECT_THAT(error_of([] { return read_result(Json::parse("[]"), "r.json").suite; }),
              HasSubstr("r.json: not the result of a run"));
  EXPECT_THAT(error_of([] {
                return read_result({{"schema_version", 1}}, "r.json").suite;
              }),
              HasSubstr("not the result of a run"));
  EXPECT_THAT(error_of([] {
                return read_result({{"schema_version", 9}, {"cases", Json::array()}}, "r").suite;
              }),
              HasSubstr("schema 9"));
}

TEST(ReadResult, MembersOfAnotherTypeAreAsIfTheyWereNotThere) {
  const Json odd = Json::parse(
      R"({"schema_version": 1, "run_id": 7, "seal": [], "system": "x", "cases": [
          {"name": [], "nodes": "many", "rounds": {"a": 1}, "summary": {"m": 3}, "rules": [1, {}],
           "rule_changes": [null, {"standard": 7}], "configuration": [2]}, 5]})");
  const judge::RunResult run = read_result(odd, "x");
  EXPECT_EQ(run.run_id, "");
  ASSERT_EQ(run.cases.size(), 2U);
  EXPECT_TRUE(run.cases[0].summary.empty());
  EXPECT_EQ(run.cases[0].validity, judge::Validity::incomplete);
}

}  // namespace
}  // namespace assay::report
