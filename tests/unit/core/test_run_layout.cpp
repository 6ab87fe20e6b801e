#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/files.h"
#include "core/rank_log_name.h"
#include "core/run_layout.h"

namespace assay::layout {
namespace {

using ::testing::HasSubstr;

std::string role_of(std::string_view path) {
  const RunFile* file = find_run_file(path);
  return file == nullptr ? "unknown"
                         : fmt::format("{} of a {}", to_text(file->role), to_text(file->place));
}

TEST(RunLayout, KnowsAFileByItsNameAndPlace) {
  EXPECT_EQ(role_of("plan.json"), "evidence of a run");
  EXPECT_EQ(role_of("result.json"), "derived of a run");
  EXPECT_EQ(role_of("push.json"), "control of a run");
  EXPECT_EQ(role_of("a/round1/report.txt"), "derived of a round");
  EXPECT_EQ(role_of("a/round1/vm_noderank0/telemetry.csv"), "evidence of a node");
  EXPECT_EQ(role_of("a/round1/vm_noderank0/agent.log"), "evidence of a node");
  EXPECT_EQ(role_of("a/round1/vm_noderank0/plan.json"), "unknown");
  EXPECT_EQ(role_of("notes.md"), "unknown");
}

TEST(RunLayout, AFolderHoldsAllThatIsInIt) {
  EXPECT_EQ(role_of("mllog/a_round1.txt"), "derived of a run");
  EXPECT_EQ(role_of("a/round1/results/node0/result.json"), "evidence of a round");
  EXPECT_EQ(role_of("a/round1/automl/journal.jsonl"), "evidence of a round");
  EXPECT_EQ(role_of("a/round1/automl/weights/3.pt"), "control of a round");
}

TEST(RunLayout, NamesWithAPlaceholderMatch) {
  EXPECT_EQ(role_of("a/round1/vm_noderank0/rank12.out.log.head"), "evidence of a node");
  EXPECT_EQ(role_of("a/round1/vm_noderank0/nvidia_monitor.log"), "evidence of a node");
  EXPECT_EQ(role_of("run20261115T101500Z-3f2a-logs.tar.gz"), "derived of a run");
  EXPECT_EQ(role_of("-logs.tar.gz"), "unknown");
}

TEST(RunLayout, ACaseWithTheNameOfAFolderKeepsItsEvidence) {
  EXPECT_EQ(role_of("logs/round1/vm_noderank0/rank0.out.log"), "evidence of a node");
  EXPECT_EQ(role_of("logs/a_round1/trials/0.json"), "derived of a run");
}

TEST(RunLayout, NoCaseMayHaveTheNameOfAFileOfTheRun) {
  for (const char* name : {"plan.json", "journal.jsonl", "live.json", "lock", "job.json",
                           "push.json", "controller.log", "ranks.csv", "junit.xml", "mllog", "logs",
                           "Report_Succeed.html", "Report_Failed.html", "x-logs.tar.gz"})
    EXPECT_TRUE(is_taken(name)) << name;
  for (const char* name : {"a", "telemetry.csv", "results", "logs2", "mllog/"})
    EXPECT_FALSE(is_taken(name)) << name;
}

TEST(RunLayout, OnlyEvidenceIsJudged) {
  for (const RunFile& file : run_files())
    EXPECT_TRUE(!file.judged || file.role == FileRole::evidence) << file.name;
}

TEST(RunLayout, IsTheTableOfTheDocumentation) {
  std::string table = "| file | place | role | sent to a tester |\n|---|---|---|---|\n";
  for (const RunFile& file : run_files())
    table += fmt::format("| `{}` | {} | {} | {} |\n", file.name, to_text(file.place),
                         to_text(file.role), file.judged ? "yes" : "");
  EXPECT_THAT(read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/run-directory.md"),
              HasSubstr(table));
}

TEST(RankLogName, IsOneWithANumberAlone) {
  for (const char* name :
       {"rank0.out.log", "rank12.out.log.head", "rank3.out.log.1", "rank00.out.log"})
    EXPECT_TRUE(is_rank_log_name(name)) << name;
  for (const char* name : {"rank_table.out.log", "rank0-nccl.out.log", "ranking.out.log",
                           "rank0.err.log", "rank.out.log"})
    EXPECT_FALSE(is_rank_log_name(name)) << name;
}

}  // namespace
}  // namespace assay::layout
