// Two administrators at the same pages, in real browsers.

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/tester/tester_process.h"
#include "e2e/web/browser_story.h"

namespace assay::serve {
namespace {

class TwoPeople : public TesterTest {
 protected:
  [[nodiscard]] std::string link_of_administrator(const std::string& name) {
    const CommandResult made =
        assay({"serve", "user", "add", name, "--role", "admin", "--data", data_.string()});
    EXPECT_TRUE(made.status.ok()) << made.err;
    const CommandResult link = assay({"serve", "link", "--user", name, "--data", data_.string()});
    EXPECT_TRUE(link.status.ok()) << link.err;
    return std::string(trim(link.out));
  }
};

TEST_F(TwoPeople, AreToldInsteadOfOverwritingEachOther) {
  if (const std::string missing = e2e::missing_for_a_story(); !missing.empty())
    GTEST_SKIP() << missing;
  start_tester();
  const std::string ann = link_of_administrator("ann");
  const CommandResult story =
      e2e::tell_story("two_people_story.py", {ann, link_of_administrator("bob")});
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

}  // namespace
}  // namespace assay::serve
