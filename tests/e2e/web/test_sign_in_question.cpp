// A link of another account than the one that is signed in, in a real browser.

#include <cstdlib>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/tester/tester_process.h"
#include "e2e/web/browser_story.h"

namespace assay::serve {
namespace {

class SignInQuestion : public TesterTest {
 protected:
  [[nodiscard]] std::string person(const std::string& name) {
    const CommandResult made = assay({"serve", "user", "add", name, "--data", data_.string()});
    EXPECT_TRUE(made.status.ok()) << made.err;
    return name;
  }
  [[nodiscard]] std::string link_of(const std::string& name) {
    const CommandResult made = assay({"serve", "link", "--user", name, "--data", data_.string()});
    EXPECT_TRUE(made.status.ok()) << made.err;
    return std::string(trim(made.out));
  }
  void tell(const std::string& part) {
    start_tester();
    const std::string ann = person("ann");
    const std::string bob = person("bob");
    const std::string carl = person(std::string(64, 'W'));
    std::vector<std::string> arguments{part,         ann,          link_of(ann), bob,
                                       link_of(bob), link_of(bob), carl,         link_of(carl)};
    if (const char* shots = std::getenv("ASSAY_SCREENSHOTS")) arguments.emplace_back(shots);
    const CommandResult story = e2e::tell_story("sign_in_story.py", arguments);
    EXPECT_EQ(story.status.code, 0) << story.out << story.err;
  }
};

TEST_F(SignInQuestion, IsAskedBeforeSomebodyElseIsSignedIn) {
  if (const std::string missing = e2e::missing_for_a_story(); !missing.empty())
    GTEST_SKIP() << missing;
  tell("desk");
}

TEST_F(SignInQuestion, FitsAPhoneHoweverLongTheNameIs) {
  if (const std::string missing = e2e::missing_for_a_story(); !missing.empty())
    GTEST_SKIP() << missing;
  tell("phone");
}

}  // namespace
}  // namespace assay::serve
