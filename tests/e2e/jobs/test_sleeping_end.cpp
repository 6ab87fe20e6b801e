// Commands that end with `sleep infinity`, as people write it who want to look around afterwards.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/json_access.h"
#include "e2e/door/door_test.h"

namespace assay::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class SleepingEnd : public DoorTest {
 protected:
  [[nodiscard]] long submit(const std::string& command, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"submit", "--no-code", "--format", "json", "--command", command};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = assay(std::move(words));
    EXPECT_EQ(result.status.code, 0) << result.err;
    const Json answer = parse_json_or_null(result.out);
    const Json& jobs = list_at(answer, "jobs");
    return jobs.empty() ? 0 : static_cast<long>(integer_at(jobs[0], "id", 0));
  }
  [[nodiscard]] std::string shown(long id) const { return assay({"job", std::to_string(id)}).out; }
  [[nodiscard]] bool rests(long id) const {
    const fs::path attempt = folder_ / fmt::format("tester/jobs/{}/attempt-1", id);
    if (!fs::exists(attempt)) return false;
    for (const auto& entry : fs::recursive_directory_iterator(attempt))
      if (entry.path().filename() == "journal.jsonl")
        return read_file(entry.path()).find("\"rest\"") != std::string::npos;
    return false;
  }
  [[nodiscard]] bool comes_to(long id, const std::string& state, std::chrono::seconds limit) {
    return eventually([&] { return this->state(id) == state; }, limit);
  }
};

TEST_F(SleepingEnd, IsTheEndOfTheJobAndItsEventsSaySo) {
  serve();
  const long id = submit("bash -c 'echo trained; true' && sleep infinity");
  ASSERT_TRUE(comes_to(id, "finished", 120s)) << shown(id);
  EXPECT_THAT(shown(id), HasSubstr("only 'sleep infinity' was left"));
  EXPECT_THAT(assay({"job", std::to_string(id), "--logs"}).out, HasSubstr("trained"));
}

TEST_F(SleepingEnd, IsKeptOpenForAsLongAsWasAskedFor) {
  serve();
  const long id =
      submit("echo trained > done.txt; echo trained; sleep infinity", {"--keep", "20s"});
  ASSERT_TRUE(eventually([&] { return rests(id); }, 120s)) << shown(id);
  EXPECT_EQ(state(id), "running");
  EXPECT_EQ(assay({"ssh", "-T", std::to_string(id), "--", "cat done.txt"}).out, "trained\n");
  EXPECT_TRUE(comes_to(id, "finished", 120s)) << shown(id);
}

TEST_F(SleepingEnd, IsAnEndToWhoeverEndsItEarlier) {
  serve();
  const long id = submit("echo A; sleep 1; echo B; sleep infinity", {"--keep", "10m"});
  ASSERT_TRUE(eventually([&] { return rests(id); }, 120s)) << shown(id);
  EXPECT_EQ(assay({"cancel", std::to_string(id)}).status.code, 0);
  ASSERT_TRUE(comes_to(id, "finished", 120s)) << shown(id);
  EXPECT_THAT(shown(id), HasSubstr("only 'sleep infinity' was left"));
}

TEST_F(SleepingEnd, OfAFailureIsNoneBecauseItIsNotReached) {
  serve();
  const long id = submit("echo broken; exit 3 && sleep infinity");
  ASSERT_TRUE(comes_to(id, "failed", 120s)) << shown(id);
  EXPECT_THAT(shown(id), Not(HasSubstr("sleep infinity' was left")));
}

TEST_F(SleepingEnd, IsNotWhatAJobIsThatDoesNothingElse) {
  serve();
  const long idle = submit("sleep infinity");
  ASSERT_TRUE(comes_to(idle, "running", 120s)) << shown(idle);
  // As long as it takes to notice that the other one rests.
  const long finished = submit("echo trained; sleep infinity");
  ASSERT_TRUE(comes_to(finished, "finished", 120s)) << shown(finished);
  EXPECT_EQ(state(idle), "running") << shown(idle);
}

TEST_F(SleepingEnd, ADurationThatIsNoneIsRefused) {
  serve();
  const CommandResult wrong = assay({"submit", "--no-code", "--command", "true", "--keep", "8d"});
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--keep: a job may be kept open for 0s to 7d\n"));
}

}  // namespace
}  // namespace assay::e2e
