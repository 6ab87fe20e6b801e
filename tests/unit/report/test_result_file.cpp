#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "demo.h"
#include "error_of.h"
#include "report/json_report.h"
#include "report/result_file.h"

namespace assay::report {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

TEST(ResultFile, GivesBackWhatTheReportWrote) {
  const judge::RunResult written = demo_result();
  const judge::RunResult read = read_result_summary(render_json(written), "result.json");
  EXPECT_EQ(read.run_id, written.run_id);
  EXPECT_EQ(read.suite, written.suite);
  EXPECT_EQ(read.validity, written.validity);
  EXPECT_EQ(read.system, written.system);
  EXPECT_EQ(read.provenance, written.provenance);
  ASSERT_EQ(read.cases.size(), written.cases.size());
  for (std::size_t i = 0; i < read.cases.size(); ++i) {
    const judge::CaseResult& a = read.cases[i];
    const judge::CaseResult& b = written.cases[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.validity, b.validity);
    EXPECT_EQ(a.headline, b.headline);
    EXPECT_EQ(a.repeats, b.repeats);
    EXPECT_EQ(a.configuration.size(), b.configuration.size());
    ASSERT_EQ(a.summary.size(), b.summary.size());
    for (std::size_t k = 0; k < a.summary.size(); ++k) {
      EXPECT_EQ(a.summary[k].info.name, b.summary[k].info.name);
      EXPECT_EQ(a.summary[k].info.unit, b.summary[k].info.unit);
      EXPECT_EQ(a.summary[k].info.better, b.summary[k].info.better);
      EXPECT_EQ(a.summary[k].median, b.summary[k].median);
      EXPECT_EQ(a.summary[k].n, b.summary[k].n);
    }
    ASSERT_EQ(a.rounds.size(), b.rounds.size());
    for (std::size_t k = 0; k < a.rounds.size(); ++k) {
      EXPECT_EQ(a.rounds[k].status, b.rounds[k].status);
      EXPECT_EQ(a.rounds[k].started, b.rounds[k].started);
      EXPECT_EQ(a.rounds[k].ended, b.rounds[k].ended);
    }
  }
}

TEST(ResultFile, AResultOfTheFirstVersionIsRead) {
  const judge::RunResult run = read_result_summary(
      read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/fixtures/run-0.1/result.json"), "old");
  ASSERT_EQ(run.cases.size(), 2);
  EXPECT_EQ(run.cases[0].headline, "p_whole");
  EXPECT_DOUBLE_EQ(run.cases[0].summary.at(0).median, 6274.628283667094);
}

TEST(ResultFile, EveryCutIsAnError) {
  const std::string whole = render_json(demo_result());
  // The last byte is the end of the line.
  for (std::size_t size = 0; size + 1 < whole.size(); size += 1 + whole.size() / 500)
    EXPECT_NE(error_of([&] { return read_result_summary(whole.substr(0, size), "r"); }), "no error")
        << size;
}

TEST(ResultFile, WhatIsNoResultOfAssayIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"schema_version": 1})",
                           R"({"schema_version": 1, "run_id": "r", "validity": "VALID"})",
                           R"({"schema_version": 1, "validity": "VALID", "cases": []})",
                           R"({"results": [1, 2, 3], "version": "3.1"})",
                           R"({"schema_version":1,"run_id":"r","validity":"VALID","cases":[{}]})"})
    EXPECT_NE(error_of([&] { return read_result_summary(text, "r"); }), "no error") << text;
}

TEST(ResultFile, ANewerSchemaIsSaid) {
  EXPECT_THAT(
      error_of([] { return read_result_summary(R"({"schema_version": 99, "cases": []})", "r"); }),
      HasSubstr("schema 99"));
}

}  // namespace
}  // namespace assay::report
