#include <set>

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "demo.h"
#include "report/json_report.h"
#include "report/report.h"
#include "temporary_folder.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;

class WriteReports : public testing::Test {
 protected:
  assay::testing::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path() / "reports";  // not made yet
  plan::Plan plan_;
};

TEST_F(WriteReports, WritesEveryFile) {
  write_reports(demo_result(), plan_, folder_);
  for (const char* name :
       {"result.json", "report.html", "report.txt", "report.md", "results.csv", "ranks.csv",
        "junit.xml", "mllog/resnet50:libtorch:H200:2:4:3_round1.txt", "mllog/my-llm_round1.txt"})
    EXPECT_GT(std::filesystem::file_size(folder_ / name), 100U) << name;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mllog/my-llm_round2.txt")) << "it was not run";
  EXPECT_EQ(read_file(folder_ / "result.json"), render_json(demo_result()));
}

TEST_F(WriteReports, SecondTimeGivesTheSameBytes) {
  write_reports(demo_result(), plan_, folder_);
  const std::string first = read_file(folder_ / "report.html");
  write_reports(demo_result(), plan_, folder_);
  EXPECT_EQ(read_file(folder_ / "report.html"), first);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr("tmp")));
}

TEST_F(WriteReports, RemovesTheLogsOfRoundsThatAreNoMore) {
  write_reports(demo_result(), plan_, folder_);
  write_file_atomic(folder_ / "mllog/notes.md", "mine");
  write_reports(small_result(), plan_, folder_);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mllog/null_round1.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mllog/my-llm_round1.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mllog/notes.md"));
}

TEST_F(WriteReports, LogsKnowTheConfigurationOfThePlan) {
  plan_.submission = {{"org", "somebody"}};
  plan_.cases.emplace_back().name = "null";
  plan_.cases[0].config = {{"seed", 42}};
  write_reports(small_result(), plan_, folder_);
  const std::string log = read_file(folder_ / "mllog/null_round1.txt");
  EXPECT_THAT(log, HasSubstr(R"("key": "seed", "value": 42)"));
  EXPECT_THAT(log, HasSubstr("somebody"));
}

TEST_F(WriteReports, RecordsOfAisBenchLieInTheRoundsFolders) {
  judge::RunResult run = small_result();
  judge::RoundResult& round = run.cases[0].rounds[0];
  const auto folder = folder_ / run.cases[0].name / "round1";
  make_directories(folder);
  round.ais = judge::AisRound{"{}", "two lines\n", {{"complete", true}}};
  write_reports(run, plan_, folder_);
  EXPECT_EQ(read_file(folder / "train_result_info.json"), "{}\n");
  EXPECT_EQ(read_file(folder / "report.txt"), "two lines\n");
  EXPECT_THAT(read_file(folder / "ais_result.json"), HasSubstr("complete"));
  round.ais = judge::AisRound{};
  write_reports(run, plan_, folder_);
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "of a round that is not complete there is none";
}

TEST_F(WriteReports, ARoundWithoutARecordKeepsWhatAnEarlierVersionWrote) {
  const auto record = folder_ / small_result().cases[0].name / "round1/train_result_info.json";
  make_directories(record.parent_path());
  write_file_atomic(record, "{}");
  write_reports(small_result(), plan_, folder_);
  EXPECT_TRUE(std::filesystem::exists(record));
}

TEST(Formats, AreTheDerivedFilesOfTheRunDirectory) {
  std::set<std::string_view> derived;
  for (const layout::RunFile& file : layout::run_files())
    if (file.role == layout::FileRole::derived) derived.insert(file.name);
  std::set<std::string_view> made{layout::kLogs, layout::kLogsArchive};  // by report --logs
  for (const Format& format : formats())
    for (const std::string_view name : format.files) {
      const std::string file = std::string(name) + (name.ends_with('/') ? "a_round1.txt" : "");
      const layout::RunFile* known = layout::find_run_file(file);
      if (known == nullptr) known = layout::find_run_file("case/round1/" + file);
      ASSERT_NE(known, nullptr) << file;
      made.insert(known->name);
      if (layout::find_run_file("case/round1/" + file) != nullptr) made.insert(name);
    }
  EXPECT_EQ(made, derived);
}

TEST(Formats, ResultJsonIsWrittenLast) {
  EXPECT_EQ(formats().back().files.front(), layout::kResult);
}

TEST(Formats, AreInTheDocumentation) {
  const std::string text = read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/reports.md");
  for (const Format& format : formats())
    for (const std::string_view file : format.files)
      EXPECT_THAT(text, HasSubstr("`" + std::string(file))) << file;
}

TEST_F(WriteReports, CasesWithLikeNamesKeepTheirLogsApart) {
  judge::RunResult run = small_result();
  run.cases.push_back(run.cases[0]);
  run.cases[0].name = "a/b";
  run.cases[1].name = "a_b";
  write_reports(run, plan_, folder_);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mllog/a_b_round1.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mllog/_a_b_round1.txt"));
}

TEST_F(WriteReports, FolderThatCannotBeWrittenIsAnError) {
  make_directories(folder_);
  write_file_atomic(folder_ / "file", "x");
  EXPECT_THROW(write_reports(small_result(), plan_, folder_ / "file" / "run"), Error);
}

}  // namespace
}  // namespace assay::report
