// The pages of `assay run --web`, in a real browser.

#include <cstdlib>

#include "e2e/harness.h"
#include "needs.h"

namespace assay::e2e {

using namespace std::chrono_literals;

class RunView : public AssayTest {};

TEST_F(RunView, ShowsMetricsAndConsoleOfTheRunThatGoesOn) {
  if (std::system("command -v chromium >/dev/null 2>&1") != 0)
    GTEST_SKIP() << needs::package("chromium");
  const std::string python = needs::python_with("json");
  if (python.empty()) GTEST_SKIP() << needs::package("python3");
  const CommandResult story =
      run_command({python, (fs::path(ASSAY_SOURCE_DIR) / "tests/web/run_view_story.py").string(),
                   (fs::path(ASSAY_BIN_DIR) / "assay").string(), folder_.string()},
                  {.timeout = 240s, .env = {}});
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

TEST_F(RunView, APortThatThereIsNotIsSaidBeforeAnythingRuns) {
  const fs::path suite = script_suite("echo ran\n");
  const CommandResult run = assay({"run", suite.string(), "--web=99999"});
  EXPECT_EQ(run.status.code, 2) << run.out << run.err;
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

}  // namespace assay::e2e
