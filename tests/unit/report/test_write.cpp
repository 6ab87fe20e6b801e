#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "demo.h"
#include "report/json.h"
#include "report/report.h"
#include "temporary_folder.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;

class WriteReports : public testing::Test {
 protected:
  assay::testing::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path() / "reports";  // not made yet
};

TEST_F(WriteReports, WritesEveryFile) {
  write_reports(demo_result(), folder_);
  for (const char* name :
       {"result.json", "report.html", "report.txt", "results.csv", "ranks.csv", "junit.xml",
        "mllog/resnet50:libtorch:H200:2:4:3_round1.txt", "mllog/my-llm_round1.txt"})
    EXPECT_GT(std::filesystem::file_size(folder_ / name), 100U) << name;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mllog/my-llm_round2.txt")) << "it was not run";
  EXPECT_EQ(read_file(folder_ / "result.json"), render_json(demo_result()));
}

TEST_F(WriteReports, SecondTimeGivesTheSameBytes) {
  write_reports(demo_result(), folder_);
  const std::string first = read_file(folder_ / "report.html");
  write_reports(demo_result(), folder_);
  EXPECT_EQ(read_file(folder_ / "report.html"), first);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr("tmp")));
}

TEST_F(WriteReports, RemovesTheLogsOfRoundsThatAreNoMore) {
  write_reports(demo_result(), folder_);
  write_file_atomic(folder_ / "mllog/notes.md", "mine");
  write_reports(small_result(), folder_);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mllog/null_round1.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mllog/my-llm_round1.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mllog/notes.md"));
}

TEST_F(WriteReports, LogsKnowTheConfigurationOfThePlan) {
  make_directories(folder_);
  write_file_atomic(folder_ / "plan.json",
                    R"({"cases": [{"name": "null", "config": {"seed": 42}, "target": null}]})");
  write_reports(small_result(), folder_);
  EXPECT_THAT(read_file(folder_ / "mllog/null_round1.txt"),
              HasSubstr(R"("key": "seed", "value": 42)"));
}

TEST_F(WriteReports, DamagedPlanDoesNotStopThem) {
  make_directories(folder_);
  for (const char* plan : {"", "{", "[]", R"({"cases": 3})", R"({"cases": [3, {"name": 7}]})",
                           R"({"cases": [{"name": "null", "config": 3, "target": "x"}]})"}) {
    write_file_atomic(folder_ / "plan.json", plan);
    EXPECT_NO_THROW(write_reports(small_result(), folder_)) << plan;
  }
}

TEST_F(WriteReports, CasesWithLikeNamesKeepTheirLogsApart) {
  judge::RunResult run = small_result();
  run.cases.push_back(run.cases[0]);
  run.cases[0].name = "a/b";
  run.cases[1].name = "a_b";
  write_reports(run, folder_);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mllog/a_b_round1.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mllog/_a_b_round1.txt"));
}

TEST_F(WriteReports, FolderThatCannotBeWrittenIsAnError) {
  make_directories(folder_);
  write_file_atomic(folder_ / "file", "x");
  EXPECT_THROW(write_reports(small_result(), folder_ / "file" / "run"), Error);
}

}  // namespace
}  // namespace assay::report
