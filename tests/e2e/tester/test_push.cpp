#include <csignal>
#include <fstream>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "e2e/tester/tester_process.h"
#include "send_signal.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Runs and whole pushes.
class Push : public TesterTest {
 protected:
  static std::string id_in(const std::string& out) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(out, found, std::regex("Test: ([0-9]{8}-[0-9A-Za-z]{6})\n")))
        << out;
    return found.empty() ? "" : found[1].str();
  }
  // A push that is still to come, as another program would make it.
  Json manifest_of(const fs::path& run) {
    Json files = Json::array();
    for (const char* name : {"plan.json", "journal.jsonl"})
      files.push_back({{"path", name},
                       {"size", fs::file_size(run / name)},
                       {"sha256", sha256_file(run / name)}});
    return {{"files", files}, {"claim", {{"verdict", "VALID"}, {"cases", Json::array()}}}};
  }
  static std::string host(const fs::path& run) {
    return read_json(run / "system.json")["nodes"][0]["host"];
  }
  void change(const fs::path& file, const std::string& from, const std::string& to) {
    std::string text = read_file(file);
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " is not in " << file;
    text.replace(at, from.size(), to);
    write_file_atomic(file, text);
  }
  std::string everything_written() {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file() && entry.path().filename() != "token")
        all += read_file(entry.path());
    return all;
  }
};

TEST_F(Push, OfAHonestRunIsAccepted) {
  const fs::path run = make_run();
  start_tester();
  const CommandResult pushed = push(run, {"--name", "my <b>cluster</b>"});
  const std::string verdict = result()["validity"];
  EXPECT_EQ(pushed.status.code, verdict == "VALID" ? 0 : 6) << pushed.out << pushed.err;
  const std::string id = id_in(pushed.out);
  EXPECT_THAT(pushed.out, AllOf(HasSubstr("Accepted: " + verdict),
                                HasSubstr("Page: " + tester().url() + "/tests/" + id)));

  const Reply test = ask("GET", "/api/v1/tests/" + id);
  EXPECT_EQ(test.json["status"], "accepted");
  EXPECT_EQ(test.json["verdict"], verdict);
  EXPECT_EQ(test.json["by"], "alice");
  EXPECT_EQ(test.json["answer"]["identical"], true);
  const Json mine = result()["cases"][0];
  EXPECT_EQ(test.json["answer"]["metrics"][mine["name"].get<std::string>()]["p_whole"]["value"],
            mine["summary"]["p_whole"]["median"]);
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + id + "/result").response.body,
            read_file(run / "result.json"));

  const Reply list = ask("GET", "/api/v1/tests?status=accepted");
  EXPECT_EQ(list.json["total"], 1);
  EXPECT_EQ(list.json["tests"][0]["test_id"], id);

  const Reply page = ask("GET", "/tests/" + id);
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.response.body, AllOf(HasSubstr("my &lt;b&gt;cluster&lt;/b&gt;"),
                                        Not(HasSubstr("<script")), HasSubstr("report.html")));
  EXPECT_THAT(page.response.header("content-security-policy"), HasSubstr("default-src 'none'"));
  EXPECT_EQ(page.response.header("x-content-type-options"), "nosniff");
  const Reply report = ask("GET", "/tests/" + id + "/report.html");
  EXPECT_EQ(report.response.body, read_file(run / "report.html"));
  EXPECT_THAT(report.response.header("content-security-policy"), HasSubstr("sandbox;"));
  EXPECT_THAT(ask("GET", "/tests").response.body, HasSubstr(id));

  // Again: nothing is sent, the answer is the same.
  EXPECT_EQ(id_in(push(run).out), id);
  EXPECT_EQ(everything_written().find(alice_), std::string::npos) << "a token was written";
}

TEST_F(Push, OfARunThatIsATestAlreadyLeavesAReservedTestToItsOwnRun) {
  const fs::path run = make_run();
  start_tester();
  const std::string first = id_in(push(run).out);
  const CommandResult made = assay({"serve", "reserve", "alice", "--data", data_.string()});
  const std::string reserved(trim(made.out));
  const CommandResult wrong = push(run, {"--test", reserved});
  EXPECT_NE(wrong.status.code, 0) << wrong.out;
  EXPECT_THAT(wrong.err, HasSubstr("the run is test " + first + " already"));
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + reserved).json["status"], "open");
}

TEST_F(Push, OfABetterNumberIsRefusedByName) {
  const fs::path run = make_run();
  Json result = read_json(run / "result.json");
  const double honest = result["cases"][0]["rounds"][0]["metrics"]["p_whole"]["value"];
  result["cases"][0]["rounds"][0]["metrics"]["p_whole"]["value"] = honest * 1.01;
  write_file_atomic(run / "result.json", dump_pretty(result));
  start_tester();
  const CommandResult pushed = push(run);
  EXPECT_EQ(pushed.status.code, 5) << pushed.out << pushed.err;
  EXPECT_THAT(pushed.out,
              AllOf(HasSubstr("Refused"), HasSubstr("p_whole"), HasSubstr(", round 1"),
                    HasSubstr(Json(honest * 1.01).dump()), HasSubstr(Json(honest).dump())));
  const std::string id = id_in(pushed.out);
  const Reply again = ask("POST", "/api/v1/tests/" + id + "/finish");
  EXPECT_EQ(again.status, 422);
  EXPECT_EQ(again.json["reasons"].size(), 1U);
  EXPECT_EQ(again.json["reasons"][0]["recomputed"], honest);
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + id + "/result").status, 404);
  EXPECT_THAT(ask("GET", "/tests/" + id).response.body, HasSubstr("Why it was refused"));
  EXPECT_FALSE(fs::exists(data_ / "tests" / id / "files")) << "its evidence takes room";
}

TEST_F(Push, OfATamperedRankLogIsRefused) {
  const fs::path run = make_run();
  // More samples in the last step: the claim stays, the evidence gives something else.
  for (const auto& entry : fs::recursive_directory_iterator(run))
    if (entry.path().string().ends_with("round1/" + host(run) + "_noderank0/rank0.out.log"))
      change(entry.path(), "\"samples\": 32}, \"step\": 120", "\"samples\": 99}, \"step\": 120");
  start_tester();
  CommandResult pushed = push(run);
  EXPECT_EQ(pushed.status.code, 5) << pushed.out << pushed.err;
  EXPECT_THAT(pushed.out, HasSubstr("the evidence gives"));

  // Who computes the claim anew from the changed log claims what the evidence gives, in vain.
  const CommandResult again = assay({"report", run.string()});
  EXPECT_EQ(again.status.code, 6) << again.out;
  fs::remove(run / "push.json");
  pushed = push(run);
  EXPECT_EQ(pushed.status.code, 5) << pushed.out << pushed.err;
  EXPECT_THAT(pushed.out, AllOf(HasSubstr("the evidence is not what was recorded"),
                                HasSubstr("rank0.out.log: other content than was recorded")));
}

TEST_F(Push, ShowsWhoSignedAndWhatThatProves) {
  const fs::path run = make_run();
  start_tester();
  const std::string page = ask("GET", "/tests/" + id_in(push(run).out)).response.body;
  const std::string fingerprint = read_json(run / "result.json")["seal"]["fingerprint"];
  EXPECT_THAT(page, AllOf(HasSubstr(fingerprint), HasSubstr("a key that this tester does not know"),
                          HasSubstr("It does not prove that the machine told the truth")));

  kill_tester();
  make_directories(data_ / "keys/trusted");
  write_file_atomic(data_ / "keys/trusted/lab.pub",
                    read_json(run / "seal.json")["public_key"].get<std::string>() + "\n");
  start_tester();
  fs::remove(run / "push.json");
  EXPECT_THAT(ask("GET", "/tests/" + id_in(push(run).out)).response.body,
              HasSubstr("known here as lab"));
}

TEST_F(Push, OfARunWithoutItsLogIsRefused) {
  const fs::path run = make_run();
  for (const auto& entry : fs::recursive_directory_iterator(run))
    if (entry.path().filename() == "rank1.out.log") fs::remove(entry.path());
  start_tester();
  const CommandResult pushed = push(run);
  EXPECT_EQ(pushed.status.code, 5) << pushed.out << pushed.err;
  EXPECT_THAT(pushed.out, HasSubstr("verdict"));
}

TEST_F(Push, GoesOnAfterTheTesterWasKilled) {
  const fs::path run = make_run();
  start_tester();
  const Reply made = ask("POST", "/api/v1/tests", "{}");
  const std::string path = "/api/v1/tests/" + made.json["test_id"].get<std::string>();
  ASSERT_EQ(ask("PUT", path + "/manifest", manifest_of(run).dump()).status, 200);
  const std::string plan = read_file(run / "plan.json");
  ASSERT_EQ(ask("PUT", path + "/files/0?offset=0", plan.substr(0, 100)).json["received"], 100);
  kill_tester();
  start_tester();
  EXPECT_EQ(ask("GET", path + "/files/0").json["received"], 100);
  const Reply wrong = ask("PUT", path + "/files/0?offset=50", plan.substr(50));
  EXPECT_EQ(wrong.status, 409);
  EXPECT_EQ(wrong.json["received"], 100);
  EXPECT_EQ(ask("PUT", path + "/files/0?offset=100", plan.substr(100)).json["received"],
            plan.size());
}

TEST_F(Push, ThatWasCutOffAnywhereIsAcceptedInTheEnd) {
  // A log that takes a while.
  (void)assay(
      {"run", script_suite("seq -f 'a line of no meaning, number %.0f' 1 200000").string()});
  const fs::path run = latest();
  start_tester();
  const fs::path token = write("token", alice_);
  ::chmod(token.c_str(), 0600);
  std::string id;
  for (int cut = 0; cut < 4; ++cut) {
    const pid_t pid =
        start({"push", run.string(), "--to", tester().url(), "--token-file", token.string()});
    // Later every time: before the test has an id, while it is sent, while it is judged.
    ::usleep(static_cast<useconds_t>(60'000 * cut));
    send_signal(pid, SIGKILL);
    ASSERT_TRUE(wait(pid, std::chrono::seconds(20)));
    if (cut == 2) {
      kill_tester();
      start_tester();
      // It has another port now: the test is known by the address, so that one is kept.
      Json state = parse_json_or_null(read_file_or_empty(run / "push.json"));
      if (state.is_object()) {
        state["url"] = tester().url();
        write_file_atomic(run / "push.json", dump_pretty(state));
      }
    }
    const Json state = parse_json_or_null(read_file_or_empty(run / "push.json"));
    if (state.is_object() && !state.value("test_id", "").empty()) {
      EXPECT_TRUE(id.empty() || state["test_id"] == id) << "a test was left behind";
      id = state["test_id"];
    }
  }
  const CommandResult pushed = push(run);
  EXPECT_THAT(pushed.out, HasSubstr("Accepted")) << pushed.err;
  EXPECT_TRUE(id.empty() || id_in(pushed.out) == id);
  EXPECT_EQ(ask("GET", "/api/v1/tests").json["total"], 1);
}

TEST_F(Push, DoesNotKeepTheTesterFromEnding) {
  const fs::path run = make_run();
  start_tester();
  EXPECT_THAT(push(run).out, HasSubstr("Accepted"));
  const std::int64_t asked = mono_now_ns();
  EXPECT_TRUE(tester().end().ok());
  EXPECT_LT(mono_now_ns() - asked, 5'000'000'000) << "it waited for somebody who has his answer";
}

TEST_F(Push, AnAcceptedTestSurvivesAKilledTester) {
  const fs::path run = make_run();
  start_tester();
  const std::string id = id_in(push(run).out);
  kill_tester();
  start_tester();
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + id).json["status"], "accepted");
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + id + "/result").response.body,
            read_file(run / "result.json"));
}

TEST_F(Push, WithAWrongOrRevokedTokenIsNotLetIn) {
  const fs::path run = make_run();
  start_tester();
  const std::string good = alice_;
  alice_ = "assay-0000";
  CommandResult pushed = push(run);
  EXPECT_EQ(pushed.status.code, 3);
  EXPECT_THAT(pushed.err, AllOf(HasSubstr("wrong_token"), HasSubstr("assay serve token add")));
  alice_ = good;
  ASSERT_TRUE(assay({"serve", "token", "revoke", "alice", "--data", data_.string()}).status.ok());
  pushed = push(run);
  EXPECT_EQ(pushed.status.code, 3);
  EXPECT_THAT(pushed.err, HasSubstr("revoked"));
  EXPECT_THAT(assay({"serve", "token", "list", "--data", data_.string()}).out,
              HasSubstr("revoked"));
}

TEST_F(Push, NeedsATokenThatNobodyElseCanRead) {
  const fs::path run = make_run();
  start_tester();
  const fs::path open_file = write("open-token", alice_);
  ::chmod(open_file.c_str(), 0644);
  CommandResult pushed =
      assay({"push", run.string(), "--to", tester().url(), "--token-file", open_file.string()});
  EXPECT_EQ(pushed.status.code, 3);
  EXPECT_THAT(pushed.err, HasSubstr("chmod 600"));
  pushed = assay({"push", run.string(), "--to", tester().url()});
  EXPECT_EQ(pushed.status.code, 3);
  EXPECT_THAT(pushed.err, HasSubstr("ASSAY_TESTER_TOKEN"));
}

TEST_F(Push, ToNobodyIsExitCodeFour) {
  const fs::path run = make_run();
  start_tester();
  const std::string url = tester().url();
  kill_tester();
  const fs::path token = write("token", alice_);
  ::chmod(token.c_str(), 0600);
  const CommandResult pushed =
      assay({"push", run.string(), "--to", url, "--token-file", token.string()});
  EXPECT_EQ(pushed.status.code, 4);
  EXPECT_THAT(pushed.err, HasSubstr("cannot be reached"));
}

TEST_F(Push, OverTlsTrustsOnlyTheGivenCertificate) {
  const fs::path run = make_run();
  const std::string certificate = (folder_ / "tester.crt").string();
  const std::string key = (folder_ / "tester.key").string();
  const CommandResult made = run_command(
      {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
       "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
       "subjectAltName=IP:127.0.0.1"});
  ASSERT_TRUE(made.status.ok()) << made.err;
  start_tester({"--tls-certificate", certificate, "--tls-key", key});
  EXPECT_TRUE(tester().url().starts_with("https://"));
  const CommandResult refused = push(run);
  EXPECT_EQ(refused.status.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("certificate"));
  const CommandResult accepted = push(run, {"--ca", certificate});
  EXPECT_THAT(accepted.out, HasSubstr("Accepted")) << accepted.err;
}

TEST_F(Push, ASecondTesterOnTheFolderRefuses) {
  start_tester();
  try {
    const TesterProcess second(folder_, {});
    FAIL() << "two testers on one folder";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another tester serves this folder"));
  }
}

TEST_F(Push, WithoutTlsBeyondThisMachineIsWarnedOf) {
  const pid_t pid = start({"serve", "--listen", "0.0.0.0:0", "--data", data_.string()});
  EXPECT_TRUE(e2e::eventually(
      [&] {
        return read_file_or_empty(folder_ / "assay.log").find("listening") != std::string::npos;
      },
      std::chrono::seconds(30)));
  EXPECT_THAT(read_file(folder_ / "assay.log"), HasSubstr("without TLS"));
  send_signal(pid, SIGINT);
  EXPECT_TRUE(wait(pid, std::chrono::seconds(20))->ok());
}

}  // namespace
}  // namespace assay::serve
