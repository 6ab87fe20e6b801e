// The pages of `assay run --web`, in a real browser.

#include "e2e/harness.h"
#include "e2e/web/browser_story.h"

namespace assay::e2e {

class RunView : public AssayTest {};

TEST_F(RunView, ShowsMetricsAndConsoleOfTheRunThatGoesOn) {
  if (const std::string missing = missing_for_a_story(); !missing.empty()) GTEST_SKIP() << missing;
  const CommandResult story =
      tell_story("run_view_story.py", {fs::path(ASSAY_BIN_DIR) / "assay", folder_});
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

TEST_F(RunView, APortThatThereIsNotIsSaidBeforeAnythingRuns) {
  const fs::path suite = script_suite("echo ran\n");
  const CommandResult run = assay({"run", suite.string(), "--web=99999"});
  EXPECT_EQ(run.status.code, 2) << run.out << run.err;
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

}  // namespace assay::e2e
