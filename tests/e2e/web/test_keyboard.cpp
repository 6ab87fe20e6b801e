// The pages for somebody without a mouse.

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/tester/tester_process.h"
#include "e2e/web/browser_story.h"

namespace assay::serve {
namespace {

class KeyboardPages : public TesterTest {};

TEST_F(KeyboardPages, KeepTheFocusWhereItIs) {
  if (const std::string missing = e2e::missing_for_a_story(); !missing.empty())
    GTEST_SKIP() << missing;
  start_tester();
  const CommandResult link = assay({"serve", "link", "--data", data_.string()});
  ASSERT_TRUE(link.status.ok()) << link.err;
  const CommandResult story = e2e::tell_story("keyboard_story.py", {std::string(trim(link.out))});
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

}  // namespace
}  // namespace assay::serve
