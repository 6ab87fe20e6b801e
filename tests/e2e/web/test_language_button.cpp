// Reports, comparisons and histories change their language where they are read.

#include "core/files.h"
#include "e2e/harness.h"
#include "e2e/web/browser_story.h"

namespace assay::e2e {

using namespace std::chrono_literals;

constexpr const char* kSuite =
    "name: tiny\n"
    "cases:\n"
    "  - case: null:native:cpu:1:2:3\n"
    "    config: {steps: 20, step_ms: 10}\n"
    "    rules: {min-duration: off, repeat-spread: off, cpu-taken: off, load-before: off,\n"
    "            other-runs: off, steal: off}\n";

class LanguageButton : public AssayTest {};

TEST_F(LanguageButton, ChangesEveryPageOverAndBack) {
  if (const std::string missing = missing_for_a_story(); !missing.empty()) GTEST_SKIP() << missing;
  const std::string suite = write("tiny.yaml", kSuite).string();
  std::vector<std::string> runs;
  for (int i = 0; i < 2; ++i) {
    const CommandResult run = assay({"run", suite, "--lang", "en"}, 120s);
    ASSERT_EQ(run.status.code, 0) << run.out << run.err;
    runs.push_back(latest().string());
  }
  const CommandResult compared =
      assay({"compare", runs[0], runs[1], "-o", "compare.html", "--lang", "en"});
  ASSERT_EQ(compared.status.code, 0) << compared.err;
  const CommandResult history =
      assay({"history", "--format", "html", "-o", "history.html", "--lang", "en"});
  ASSERT_EQ(history.status.code, 0) << history.err;
  const CommandResult story =
      tell_story("language_story.py",
                 {latest() / "report.html", folder_ / "compare.html", folder_ / "history.html"});
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

}  // namespace assay::e2e
