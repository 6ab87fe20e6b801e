#include "plan/answering.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "plan/overrides.h"

namespace assay::plan {

PlanOptions answering(const Suite& suite, const PlanOptions& options) {
  const Challenge& challenge = *options.challenge;
  const auto fail = [](const std::string& message, const std::string& advice) {
    throw Error(ErrorKind::config, message, "--challenge", advice);
  };
  if (challenge.seed < 0 || challenge.seed > kMaxChallengeSeed)
    fail("not a valid seed: " + std::to_string(challenge.seed), "ask the tester for another one");
  if (suite.sha256 != challenge.suite_sha256)
    fail("the suite '" + suite.name + "' is not the one that was measured then (SHA-256 " +
             ellipsize(printable(challenge.suite_sha256), 64) + ")",
         "give the suite file of the test " + ellipsize(printable(challenge.test), 40) +
             ", as it was");
  const auto found = std::ranges::find(suite.cases, challenge.case_name, &SuiteCase::name);
  if (found == suite.cases.end())
    fail("the suite has no case '" + ellipsize(printable(challenge.case_name), 200) + "'",
         "give the suite file of the test " + ellipsize(printable(challenge.test), 40));
  for (const std::string& pattern : options.only)
    if (pattern != found->name && pattern != found->model && !glob_matches(pattern, found->name))
      fail("it is about the case '" + found->name + "', and --only names another", "leave it out");
  PlanOptions out = options;
  out.only = {found->name};
  // --set applies to a whole sweep; --only picks the one point.
  const std::string& whole = found->point ? found->point->sweep : found->name;
  out.overrides.push_back("cases." + whole + (found->automl ? ".automl" : ".config") +
                          ".seed=" + std::to_string(challenge.seed));
  return out;
}

}  // namespace assay::plan
