#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "database/database.h"
#include "e2e/tester/tester_process.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Accepted runs, side by side.
class Leaderboard : public TesterTest {
 protected:
  // As another machine would send it: without the state of an earlier push.
  std::string push_anew(const fs::path& run, const std::string& name = "mine") {
    fs::remove(run / "push.json");
    const CommandResult pushed = push(run, {"--name", name});
    const auto at = pushed.out.find("Test: ");
    EXPECT_NE(at, std::string::npos) << pushed.out << pushed.err;
    return at == std::string::npos ? "" : pushed.out.substr(at + 6, 15);
  }
};

TEST_F(Leaderboard, ShowsWhatTheTesterComputed) {
  const fs::path run = make_run();
  write("tester/tester.yaml", "prices: {currency: EUR, hardware: [{kind: '', node_hour: 3.6}]}\n");
  EXPECT_EQ(assay({"serve", "--data", data_.string(), "--listen", "127.0.0.1:0"}).status.code, 2)
      << "a kind must have a name";
  const std::string kind = read_json(run / "system.json")["nodes"][0]["cpu"]["model"];
  write("tester/tester.yaml",
        fmt::format("prices: {{currency: EUR, hardware: [{{kind: '{}', node_hour: 3.6}}]}}\n",
                    kind.empty() ? "x86" : kind));
  start_tester();
  const std::string id = push_anew(run, "my <b>cluster</b>");
  const Reply board = ask("GET", "/api/v1/leaderboard");
  ASSERT_EQ(board.json["total"], 1) << board.response.body;
  const Json line = board.json["entries"][0];
  const Json mine = result()["cases"][0];
  EXPECT_EQ(line["test"], id);
  EXPECT_EQ(line["suite"], "short");
  EXPECT_EQ(line["case"], "null:native:cpu:1:2");
  EXPECT_EQ(line["headline"]["metric"], mine["headline"]);
  const double value = mine["summary"][mine["headline"].get<std::string>()]["median"];
  EXPECT_EQ(line["headline"]["value"], value);
  EXPECT_EQ(line["verdict"], result()["validity"]);
  EXPECT_EQ(line["signature"]["state"], "unknown");
  EXPECT_EQ(line["report"], "/tests/" + id + "/report.html");
  if (!kind.empty() && line["headline"]["unit"] == "samples/s") {
    EXPECT_NEAR(line["price"]["value"], 0.001 / value, 1e-9 / value);
  }
  const Reply page = ask("GET", "/leaderboard?sort=value&order=down");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.response.body,
              AllOf(HasSubstr("my &lt;b&gt;cluster&lt;/b&gt;"), Not(HasSubstr("<script"))));
  EXPECT_THAT(page.response.header("content-security-policy"), HasSubstr("form-action 'self'"));
  EXPECT_EQ(ask("GET", "/leaderboard?sort=luck").status, 400);
  EXPECT_EQ(ask("GET", "/leaderboard", "", {}, "").status, 401);
}

TEST_F(Leaderboard, OfTheSameRunHasOneLineAndOfARefusedOneNone) {
  const fs::path run = make_run();
  start_tester();
  const std::string first = push_anew(run);
  EXPECT_EQ(push_anew(run), first) << "it is a test already";
  // The same run by another token is another test, and no other line.
  const std::string alice = alice_;
  alice_ = add_token("bob");
  EXPECT_NE(push_anew(run), first);
  alice_ = alice;
  EXPECT_EQ(ask("GET", "/api/v1/leaderboard").json["total"], 1);
  Json result = read_json(run / "result.json");
  result["cases"][0]["rounds"][0]["metrics"]["p_whole"]["value"] = 1e9;
  write_file_atomic(run / "result.json", dump_pretty(result));
  push_anew(run);
  EXPECT_EQ(ask("GET", "/api/v1/tests?status=refused").json["total"], 1);
  const Json board = ask("GET", "/api/v1/leaderboard").json;
  EXPECT_EQ(board["total"], 1);
  EXPECT_THAT(board.dump(), Not(HasSubstr("1000000000")));
}

TEST_F(Leaderboard, ComparesTwoRuns) {
  const fs::path first = make_run();
  start_tester();
  const std::string base = push_anew(first, "first");
  const std::string candidate = push_anew(make_run(), "second");
  ASSERT_EQ(ask("GET", "/api/v1/leaderboard").json["total"], 2);
  const std::string query = "?base=" + base + "&new=" + candidate;
  const Reply json = ask("GET", "/api/v1/compare" + query);
  EXPECT_EQ(json.status, 200) << json.response.body;
  EXPECT_EQ(json.json["tests"]["new"], candidate);
  ASSERT_EQ(json.json["cases"].size(), 1U);
  const Reply page = ask("GET", "/compare" + query);
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.response.body, AllOf(HasSubstr("What changed"), HasSubstr(candidate)));
  EXPECT_EQ(ask("GET", "/compare?base=" + base).status, 400);
  EXPECT_EQ(ask("GET", "/compare?base=" + base + "&new=20261115-abcdef").status, 404);
  EXPECT_EQ(ask("GET", "/compare?base=../../x&new=" + base).status, 404);
}

// Schema 2 knew no leaderboard: what was accepted then is on it at the next start.
TEST_F(Leaderboard, HasTheTestsOfAnEarlierVersion) {
  const fs::path run = make_run();
  start_tester();
  const std::string id = push_anew(run);
  const Json before = ask("GET", "/api/v1/leaderboard").json;
  kill_tester();
  {
    database::Database old(data_ / "tester.db");
    old.execute("DROP TABLE entries; DROP TABLE results; PRAGMA user_version = 2");
  }
  start_tester();
  EXPECT_EQ(ask("GET", "/api/v1/leaderboard").json, before);
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + id).json["status"], "accepted");
}

}  // namespace
}  // namespace assay::serve
