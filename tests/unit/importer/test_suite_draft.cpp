#include <fstream>

#include <gmock/gmock.h>

#include "importer/suite_draft.h"
#include "plan/suite.h"
#include "temporary_folder.h"

namespace assay::importer {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

plan::Suite loaded(const SuiteDraft& draft) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "s.yaml";
  std::ofstream(file) << to_yaml(draft);
  return plan::load_suite(file);
}

TEST(SuiteDraft, OfACommandIsASuite) {
  SuiteDraft draft;
  draft.name = "it's mine";
  draft.command = "python3 -u train.py --lr 1e-4";
  draft.metric = PrintedMetric{"printed_tokens", "Tokens: *([0-9.]+)", "tokens/s"};
  const plan::Suite suite = loaded(draft);
  EXPECT_EQ(suite.name, "it's mine");
  EXPECT_THAT(suite.cases, SizeIs(1));
}

TEST(SuiteDraft, OfAWorkloadOnHostsIsASuite) {
  SuiteDraft draft;
  draft.launcher = DraftLauncher::ssh;
  draft.hosts = {"n1", "n2"};
  draft.user = "bench";
  draft.workload = "resnet20";
  draft.framework = "libtorch";
  draft.nodes = 2;
  EXPECT_THAT(loaded(draft).cases, SizeIs(1));
  EXPECT_THAT(to_yaml(draft), HasSubstr("hosts: ['n1', 'n2']"));
}

TEST(SuiteDraft, OfSlurmIsASuite) {
  SuiteDraft draft;
  draft.launcher = DraftLauncher::slurm;
  draft.partition = "gpu";
  draft.command = "echo $RANK | cat";
  EXPECT_THAT(loaded(draft).cases, SizeIs(1));
  EXPECT_THAT(to_yaml(draft), HasSubstr("shell: true"));
}

TEST(SuiteDraft, OfAProgressBarReadsItsSpeed) {
  SuiteDraft draft;
  draft.command = "train";
  draft.metric = PrintedMetric{"throughput", "([0-9.]+(?:it/s|s/it))", "it/s", "higher", true};
  const plan::Suite suite = loaded(draft);
  ASSERT_THAT(suite.cases.at(0).metrics, SizeIs(1));
  EXPECT_EQ(suite.cases[0].metrics[0].kind, plan::OutputKind::speed);
}

}  // namespace
}  // namespace assay::importer
