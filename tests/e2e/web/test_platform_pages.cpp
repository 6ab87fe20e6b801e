// The platform's pages in a real browser: from the link of the first start to signing out.

#include <cstdlib>

#include <fmt/format.h>

#include "core/text.h"
#include "e2e/tester/tester_process.h"
#include "e2e/web/browser_story.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class PlatformPages : public TesterTest {};

// What a training prints, for long enough to be watched.
constexpr const char* kTraining = R"(
seq -f 'line %.0f of what a program prints at its start' 4000
i=0
while [ $i -lt 450 ]; do
  i=$((i+1))
  printf '[PerfLog] {"event": "STEP_END", "value": {"loss": 0.%s, "samples": 32}, "step": %s, "metadata": {"time_ms": %s}}\n' $((900 - i)) $i $(date +%s%3N)
  sleep 0.1
done
)";

TEST_F(PlatformPages, TellTheWholeStory) {
  if (const std::string missing = e2e::missing_for_a_story(); !missing.empty())
    GTEST_SKIP() << missing;
  start_tester();
  const CommandResult link = assay({"serve", "link", "--data", data_.string()});
  ASSERT_TRUE(link.status.ok()) << link.err;
  const fs::path script = write("train.sh", kTraining);
  std::vector<std::string> arguments{std::string(trim(link.out)), "sh " + script.string()};
  // docs/images/platform is made so.
  if (const char* shots = std::getenv("ASSAY_SCREENSHOTS")) arguments.emplace_back(shots);
  const CommandResult story = e2e::tell_story("platform_story.py", arguments, 280s);
  EXPECT_EQ(story.status.code, 0) << story.out << story.err;
}

}  // namespace
}  // namespace assay::serve
