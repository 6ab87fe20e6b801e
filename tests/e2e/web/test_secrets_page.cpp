// Secrets in a real browser: kept, given to a job, removed, and never shown.

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/tester/tester_process.h"
#include "e2e/web/browser_story.h"

namespace assay::serve {
namespace {

class SecretsPage : public TesterTest {};

TEST_F(SecretsPage, KeepsWhatNobodyIsShown) {
  if (const std::string missing = e2e::missing_for_a_story(); !missing.empty())
    GTEST_SKIP() << missing;
  start_tester();
  const CommandResult link = assay({"serve", "link", "--data", data_.string()});
  ASSERT_TRUE(link.status.ok()) << link.err;
  const CommandResult story = e2e::tell_story("secrets_story.py", {std::string(trim(link.out))});
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

}  // namespace
}  // namespace assay::serve
