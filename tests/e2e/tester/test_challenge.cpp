// Measuring again what was measured, with a seed that the tester chose.

#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/time.h"
#include "e2e/tester/tester_process.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ChallengedRun : public TesterTest {
 protected:
  void SetUp() override {
    TesterTest::SetUp();
    const fs::path run = make_run();
    start_tester();
    test_ = id_in(push(run).out);
    ASSERT_NE(test_, "");
  }
  static std::string id_in(const std::string& out) {
    std::smatch found;
    const std::regex line("Test: ([0-9]{8}-[0-9A-Za-z]{6})\n");
    return std::regex_search(out, found, line) ? found[1].str() : "";
  }
  CommandResult challenge(std::vector<std::string> more = {}) {
    std::vector<std::string> words{"challenge",    test_,          "--to",
                                   tester().url(), "--token-file", (folder_ / "token").string(),
                                   "--out",        file_.string()};
    words.insert(words.end(), more.begin(), more.end());
    return assay(words);
  }
  CommandResult answer(const std::string& to) {
    return assay({"run", (folder_ / "suite.yaml").string(), "--repeat", "1", "--challenge", to});
  }
  std::string test_;
  const fs::path file_ = folder_ / "challenge.json";
};

TEST_F(ChallengedRun, IsComparedWithTheTestThatItMeasuresAgain) {
  const CommandResult issued = challenge();
  ASSERT_EQ(issued.status.code, 0) << issued.err;
  const Json asked = read_json(file_);
  EXPECT_EQ(asked["test"], test_);
  EXPECT_EQ(asked["case"], "null:native:cpu:1:2:2");

  answer(file_.string());
  const fs::path run = latest();
  EXPECT_EQ(read_json(run / "plan.json")["challenge"], asked);
  EXPECT_EQ(read_json(run / "plan.json")["cases"][0]["config"]["seed"], asked["seed"]);
  const CommandResult pushed = push(run);
  EXPECT_THAT(pushed.out, HasSubstr("Challenge answered: ")) << pushed.err;
  const std::string id = id_in(pushed.out);
  const Json given = ask("GET", "/api/v1/tests/" + id).json["answer"]["challenge"];
  EXPECT_EQ(given["seed_use"], "applied");
  EXPECT_EQ(given["differs"], Json::array());
  EXPECT_TRUE(given["difference"].is_number()) << given;
  EXPECT_THAT(ask("GET", "/tests/" + id).response.body,
              AllOf(HasSubstr("Measured again, as this tester asked"), HasSubstr(test_)));
  EXPECT_THAT(ask("GET", "/tests/" + test_).response.body,
              AllOf(HasSubstr("Challenges to measure it again"), HasSubstr(id)));

  // The same run is the same test; as another one, it is a replay.
  fs::remove(run / "push.json");
  EXPECT_EQ(id_in(push(run).out), id);
  write_file_atomic(run / "result.json", dump_line(read_json(run / "result.json")));
  fs::remove(run / "push.json");
  const CommandResult again = push(run);
  EXPECT_EQ(again.status.code, 5) << again.out;
  EXPECT_THAT(again.out, HasSubstr("the challenge was answered before, by the test " + id));
}

TEST_F(ChallengedRun, IsRefusedWhenTheChallengeWasAlteredOrIsNotTheTesters) {
  ASSERT_EQ(challenge().status.code, 0);
  Json asked = read_json(file_);
  asked["expires"] = "2099-01-01T00:00:00Z";
  answer(dump_line(asked));
  CommandResult pushed = push(latest());
  EXPECT_EQ(pushed.status.code, 5);
  EXPECT_THAT(pushed.out, HasSubstr("the challenge was altered: expires"));

  asked["id"] = std::string(32, '0');
  answer(dump_line(asked));
  pushed = push(latest());
  EXPECT_EQ(pushed.status.code, 5);
  EXPECT_THAT(pushed.out, HasSubstr("the challenge is not one of this tester's"));
}

TEST_F(ChallengedRun, IsRefusedWhenTheTimeIsOver) {
  ASSERT_EQ(challenge({"--valid", "1s"}).status.code, 0);
  answer(file_.string());  // takes longer
  const std::string expires = read_json(file_)["expires"];
  ASSERT_TRUE(e2e::eventually([&] { return iso_utc(wall_now_ns()) > expires; }));
  const CommandResult pushed = push(latest());
  EXPECT_EQ(pushed.status.code, 5);
  EXPECT_THAT(pushed.out, HasSubstr("the challenge expired at " + expires));
}

// Who put the challenge into the plan of a run that was made before, and sealed it anew.
TEST_F(ChallengedRun, IsRefusedWhenTheRanksDidNotGetTheSeed) {
  ASSERT_EQ(challenge().status.code, 0);
  const fs::path run = latest();
  Json plan = read_json(run / "plan.json");
  plan["challenge"] = read_json(file_);
  write_file_atomic(run / "plan.json", dump_pretty(plan));
  fs::remove(run / "push.json");
  (void)assay({"report", run.string()});
  const CommandResult pushed = push(run);
  EXPECT_EQ(pushed.status.code, 5);
  EXPECT_THAT(pushed.out, AllOf(HasSubstr("the seed of the case"), HasSubstr("plan.json")));
}

TEST_F(ChallengedRun, NeedsAnAcceptedTestAndTheAddressWorksToo) {
  EXPECT_EQ(ask("POST", "/api/v1/challenges", R"({"test": "20261115-aaaaaa"})").status, 404);
  const std::string open = ask("POST", "/api/v1/tests", "{}").json["test_id"];
  EXPECT_EQ(ask("POST", "/api/v1/challenges", Json{{"test", open}}.dump()).status, 409);
  for (const char* body : {"", "[]", R"({"test": 7})", R"({"test": "x", "valid_s": -1})"})
    EXPECT_GE(ask("POST", "/api/v1/challenges", body).status, 400) << body;
  EXPECT_EQ(ask("POST", "/api/v1/challenges", Json{{"test", test_}}.dump(), {}, "").status, 401);

  const Json made = ask("POST", "/api/v1/challenges", Json{{"test", test_}}.dump()).json;
  const std::string url =
      tester().url() + "/api/v1/challenges/" + made["challenge"]["id"].get<std::string>();
  const CommandResult shown =
      assay({"run", (folder_ / "suite.yaml").string(), "--dry-run", "--format", "json",
             "--challenge", url, "--token-file", (folder_ / "token").string()});
  ASSERT_EQ(shown.status.code, 0) << shown.err;
  EXPECT_EQ(Json::parse(shown.out)["plan"]["challenge"], made["challenge"]);
}

}  // namespace
}  // namespace assay::serve
