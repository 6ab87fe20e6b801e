#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/sha256.h"
#include "error_of.h"
#include "push/sent_files.h"
#include "temporary_folder.h"

namespace assay::push {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

plan::Plan plan_with_case() {
  plan::Plan plan;
  plan.run_id = "run1";
  plan::CasePlan one;
  one.name = "fit";
  one.repeats = 2;
  one.command = {"true"};
  plan.cases.push_back(one);
  return plan;
}

TEST(Evidence, IsWhatTheJudgeReadsAndNothingElse) {
  const testing::TemporaryFolder folder;
  const store::RunDir run = store::RunDir::create(folder.path(), plan_with_case());
  for (const char* name : {"journal.jsonl",
                           "system.json",
                           "seal.json",
                           "live.json",
                           "job.json",
                           "controller.log",
                           "result.json",
                           "push.json",
                           "report.html",
                           "lock",
                           "mllog/x.txt",
                           "fit/round1/h_noderank0/config.json",
                           "fit/round1/h_noderank0/rank0.out.log",
                           "fit/round1/h_noderank0/rank0.out.log.head",
                           "fit/round1/h_noderank0/telemetry.csv",
                           "fit/round1/h_noderank0/evidence.jsonl",
                           "fit/round1/h_noderank0/cpu_monitor.log",
                           "fit/round1/h_noderank0/hccl.json",
                           "fit/round1/automl/journal.jsonl",
                           "fit/round1/automl/weights/1.pt",
                           "fit/round2/job.json",
                           "fit/round2/results/0/a.json",
                           "fit/round2/results/key.pem",
                           "fit/round3/h_noderank0/rank0.out.log",
                           "fit/round1.interrupted-1/h_noderank0/rank0.out.log",
                           "secret.txt"}) {
    make_directories((run.path() / name).parent_path());
    write_file_atomic(run.path() / name, name, false);
  }
  fs::create_symlink("/etc/hostname", run.path() / "fit/round1/h_noderank0/rank1.out.log");
  std::vector<std::string> paths;
  for (const tester::ManifestFile& file : evidence_of(run)) {
    paths.push_back(file.path);
    EXPECT_EQ(file.sha256, sha256(read_file(run.path() / file.path)));
    EXPECT_EQ(file.size, fs::file_size(run.path() / file.path));
  }
  EXPECT_THAT(
      paths,
      ElementsAre("plan.json", "journal.jsonl", "system.json", "seal.json",
                  "fit/round1/automl/journal.jsonl", "fit/round1/h_noderank0/config.json",
                  "fit/round1/h_noderank0/evidence.jsonl", "fit/round1/h_noderank0/rank0.out.log",
                  "fit/round1/h_noderank0/rank0.out.log.head",
                  "fit/round1/h_noderank0/telemetry.csv", "fit/round2/results/0/a.json"));
}

TEST(Evidence, HoldsWhatHooksWrote) {
  const testing::TemporaryFolder folder;
  plan::Plan plan = plan_with_case();
  plan::Hook hook;
  hook.name = "look";
  plan.hooks = {hook};
  plan.cases[0].hooks = {hook};
  const store::RunDir run = store::RunDir::create(folder.path(), plan);
  for (const char* name :
       {"hook.before.look/round1/hook.log", "hook.before.look/round1/other",
        "hook.before.look.fit/round2/h_noderank0/rank0.out.log", "hook.before.none/round1/hook.log",
        "hook.before.look/round1.interrupted-1/hook.log"}) {
    make_directories((run.path() / name).parent_path());
    write_file_atomic(run.path() / name, name, false);
  }
  std::vector<std::string> paths;
  for (const tester::ManifestFile& file : evidence_of(run)) paths.push_back(file.path);
  EXPECT_THAT(paths, ElementsAre("plan.json", "hook.before.look/round1/hook.log",
                                 "hook.before.look.fit/round2/h_noderank0/rank0.out.log"));
}

TEST(Evidence, WithASecretInThePlanIsNotSent) {
  for (const char* name : {"HF_TOKEN", "aws_secret_access_key", "DB_PASSWORD", "OPENAI_API_KEY"}) {
    plan::Plan plan = plan_with_case();
    plan.cases[0].env = {{name, "hunter2"}};
    const std::string error = testing::error_of([&] {
      check_for_secrets(plan);
      return 0;
    });
    EXPECT_THAT(error, HasSubstr(name));
    EXPECT_EQ(error.find("hunter2"), std::string::npos);
  }
}

TEST(Evidence, WithOrdinaryVariablesIsSent) {
  plan::Plan plan = plan_with_case();
  plan.cases[0].env = {{"TOKENIZERS_PARALLELISM", "false"}, {"HF_TOKEN", ""}, {"OMP_NUM", "1"}};
  EXPECT_NO_THROW(check_for_secrets(plan));
}

}  // namespace
}  // namespace assay::push
