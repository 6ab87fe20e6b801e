// Arrays, the map of the cluster and what administrators decide, in a real browser.

#include <cstdlib>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/tester/tester_process.h"
#include "e2e/web/browser_story.h"

namespace assay::serve {
namespace {

class ArrayPages : public TesterTest {
 protected:
  void tell(const std::string& device) {
    start_tester();
    const CommandResult link = assay({"serve", "link", "--data", data_.string()});
    ASSERT_TRUE(link.status.ok()) << link.err;
    std::vector<std::string> arguments{std::string(trim(link.out)), device};
    if (const char* shots = std::getenv("ASSAY_SCREENSHOTS")) arguments.emplace_back(shots);
    const CommandResult story = e2e::tell_story("arrays_story.py", arguments);
    EXPECT_EQ(story.status.code, 0) << story.out << story.err;
  }
};

TEST_F(ArrayPages, AtADesk) {
  if (const std::string missing = e2e::missing_for_a_story(); !missing.empty())
    GTEST_SKIP() << missing;
  tell("desk");
}

TEST_F(ArrayPages, OnAPhone) {
  if (const std::string missing = e2e::missing_for_a_story(); !missing.empty())
    GTEST_SKIP() << missing;
  tell("phone");
}

}  // namespace
}  // namespace assay::serve
