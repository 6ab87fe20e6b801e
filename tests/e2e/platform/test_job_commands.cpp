// The commands of docs/platform.md with a real server.

#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chinese_text.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json_access.h"
#include "core/text.h"
#include "e2e/platform/platform_test.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class JobCommands : public PlatformTest {
 protected:
  void drain_the_node() {
    const Json nodes = parse_json_or_null(assay({"nodes", "--format", "json"}).out);
    const std::string name = text_at(list_at(nodes, "nodes").at(0), "name");
    EXPECT_EQ(assay({"nodes", "drain", name, "--reason", "a test"}).status.code, 0);
  }
};

TEST_F(JobCommands, ACommandIsSubmittedFollowedAndJudged) {
  const CommandResult result = assay({"submit", "--command", "echo hello from rank $RANK", "--name",
                                      "hello", "--procs", "2", "--no-code", "--follow"},
                                     std::chrono::seconds(150));
  EXPECT_EQ(result.status.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("hello: 1 node × 2 devices"), HasSubstr("Starts at once"),
                                HasSubstr("echo hello"), HasSubstr(url() + "/#/jobs/1/brief")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("job 1 is finished, VALID")));
  const CommandResult listed = assay({"jobs", "--all"});
  EXPECT_THAT(listed.out, AllOf(HasSubstr("hello"), HasSubstr("finished"), HasSubstr("VALID")));
  EXPECT_EQ(assay({"jobs"}).out, "No jobs.\n");
  EXPECT_THAT(assay({"usage"}).out, HasSubstr("not measured")) << "processors are not";
  EXPECT_THAT(assay({"usage", "--format", "json"}).out, HasSubstr("\"idle_device_hours\": null"));
  EXPECT_THAT(assay({"usage", "--format", "csv"}).out, HasSubstr(",,,"));
  const CommandResult shown = assay({"job", "1"});
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("Job        1 hello"), HasSubstr("submitted"), HasSubstr("exited")));
}

TEST_F(JobCommands, SayInChineseAllButNames) {
  const auto chinese = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--lang", "zh"});
    const CommandResult result = assay(std::move(words), std::chrono::seconds(150));
    EXPECT_EQ(result.status.code, 0) << result.err;
    return result;
  };
  const std::set<std::string> names{"killed", "echo", "default", "admin",    "cpu",      "main",
                                    "mpi",    "dlws", "command", "hostfile", host_name()};
  const auto check = [&](const std::string& text) {
    EXPECT_THAT(testing::english_in(text, names), ::testing::IsEmpty()) << text;
  };
  const CommandResult sent =
      chinese({"submit", "--command", "echo killed", "--name", "killed", "--no-code", "--follow"});
  EXPECT_THAT(sent.out, HasSubstr("\n  命令        "));
  check(sent.out);
  EXPECT_THAT(sent.out, AllOf(HasSubstr("killed：1 个节点 × "), HasSubstr("立即在 ")));
  check(sent.err);
  const CommandResult listed = chinese({"jobs", "--all"});
  EXPECT_THAT(listed.out, AllOf(HasSubstr("killed"), HasSubstr("已完成")));
  check(listed.out);
  const CommandResult shown = chinese({"job", "1"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("1 killed\n"), HasSubstr("echo killed\n")));
  check(shown.out);
  for (const char* command : {"nodes", "queue", "schedules", "usage"})
    check(chinese({command}).out);
}

TEST_F(JobCommands, JobsAreComparedByNumberAlsoWithPushedRunsAndRunsHere) {
  const fs::path suite = script_suite("true");
  ASSERT_EQ(assay({"run", suite.string()}, std::chrono::seconds(120)).status.code, 0);
  const CommandResult token = assay({"serve", "token", "add", "alice"});
  ASSERT_EQ(token.status.code, 0) << token.err;
  fs::permissions(write("token", token.out), fs::perms::owner_read);
  const CommandResult pushed =
      assay({"push", "results/latest", "--to", url(), "--token-file", (folder_ / "token").string()},
            std::chrono::seconds(120));
  const auto at = pushed.out.find("Test: ");
  ASSERT_NE(at, std::string::npos) << pushed.out << pushed.err;
  const std::string test = "test:" + pushed.out.substr(at + 6, 15);
  const long first = submit({suite.string()});
  const long second = submit({suite.string()});
  ASSERT_TRUE(becomes(first, "finished"));
  ASSERT_TRUE(becomes(second, "finished"));
  const std::string base = "job:" + std::to_string(first);
  const CommandResult compared =
      assay({"compare", base, "job:" + std::to_string(second), test, "results/latest"});
  EXPECT_EQ(compared.status.code, 0) << compared.err;
  EXPECT_THAT(compared.out, AllOf(HasSubstr(base), HasSubstr(test), HasSubstr("probe")));
  EXPECT_THAT(assay({"compare", base, "job:999"}).err, HasSubstr("no such job"));
  EXPECT_THAT(assay({"compare", base, "job:x"}).err, HasSubstr("not the number of a job"));
  EXPECT_THAT(assay({"compare", "job:x", base, "--server", "http://127.0.0.1:1"}).err,
              HasSubstr("not the number of a job: 'job:x'"))
      << "no server is asked for that";
  EXPECT_THAT(assay({"compare", base, "test:../x"}).err, HasSubstr("not the id of a test"));
  EXPECT_THAT(assay({"compare", base, base + "," + base}).err, HasSubstr("named twice"));
}

TEST_F(JobCommands, AnArrayIsCancelledAsAWhole) {
  const std::vector<std::string> words{"submit",    "--command", "sleep 600",
                                       "--no-code", "--array",   "0-2%1"};
  std::vector<std::string> dry = words;
  dry.emplace_back("--dry-run");
  EXPECT_THAT(assay(dry).out, HasSubstr("An array of 3 jobs, 1 at a time"));
  ASSERT_EQ(assay(words).status.code, 0);
  const CommandResult cancelled = assay({"cancel", "1-3"});
  EXPECT_EQ(cancelled.status.code, 0) << cancelled.err;
  for (const long id : {1, 2, 3}) EXPECT_TRUE(becomes(id, "killed")) << id;
  for (const char* wrong : {"1-", "3-1", "x", "1-99999999"})
    EXPECT_THAT(assay({"cancel", wrong}).err, HasSubstr("neither a job's number nor a range"));
}

TEST_F(JobCommands, TheOutputOfAJobIsPrinted) {
  const long id = submit({"--command", "echo hello from rank $RANK", "--procs", "2"});
  ASSERT_TRUE(becomes(id, "finished"));
  const CommandResult logs = assay({"job", std::to_string(id), "--logs"});
  EXPECT_EQ(logs.status.code, 0) << logs.err;
  EXPECT_THAT(logs.out, AllOf(HasSubstr("hello from rank 0"), HasSubstr("hello from rank 1")));
  const CommandResult lines = assay({"job", std::to_string(id), "--logs", "--format", "json"});
  EXPECT_EQ(lines.status.code, 0) << lines.err;
  int said = 0;
  for (const std::string_view line : split(trim(lines.out), '\n')) {
    const Json json = parse_json_or_null(std::string(line));
    ASSERT_TRUE(json.is_object()) << line;
    said += json["text"].get<std::string>().starts_with("hello from rank") ? 1 : 0;
  }
  EXPECT_EQ(said, 2);
  const CommandResult refused = assay({"job", std::to_string(id), "--yaml", "--format", "json"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("'--yaml' prints text, not JSON"));
}

TEST_F(JobCommands, ASuiteIsSubmittedAndGivenBack) {
  const fs::path suite = script_suite("echo from a suite");
  const long id = submit({suite.string(), "--name", "by-suite"});
  ASSERT_TRUE(becomes(id, "finished"));
  const std::string number = std::to_string(id);
  EXPECT_THAT(assay({"job", number, "--yaml"}).out, HasSubstr("rank.sh"));
  EXPECT_THAT(assay({"job", number, "--command"}).out,
              HasSubstr("assay submit suite.yaml --name by-suite"));
  EXPECT_THAT(assay({"job", number, "--curl"}).out, HasSubstr(url() + "/api/v1/jobs"));
}

TEST_F(JobCommands, TheReportAndTheResultOfAJobAreFetched) {
  const long id = submit({"--command", "echo hello"});
  ASSERT_TRUE(becomes(id, "finished"));
  const std::string number = std::to_string(id);
  const CommandResult result = assay({"job", number, "--result"});
  ASSERT_EQ(result.status.code, 0) << result.err;
  EXPECT_EQ(parse_json(result.out, "result").at("cases").at(0).at("name"), "main");
  const CommandResult report = assay({"job", number, "--report"});
  ASSERT_EQ(report.status.code, 0) << report.err;
  EXPECT_THAT(report.out, AllOf(::testing::StartsWith("<!"), HasSubstr("</html>")));
  const CommandResult refused = assay({"job", number, "--report", "--format", "json"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("'--report' prints text, not JSON"));
  EXPECT_EQ(assay({"job", number, "--report", "--result"}).status.code, 2);
}

TEST_F(JobCommands, AMistakeInASuiteIsSaidWithItsPlace) {
  const fs::path suite = write("wrong.yaml", "name: wrong\ncases:\n  - name: a\n    modle: x\n");
  const CommandResult result = assay({"submit", suite.string(), "--no-code"});
  EXPECT_EQ(result.status.code, 2) << result.out;
  EXPECT_THAT(result.err, AllOf(HasSubstr("wrong.yaml:4:5: "), HasSubstr("modle")));
  EXPECT_EQ(assay({"jobs", "--all"}).out, "No jobs.\n");
}

TEST_F(JobCommands, AMistakeOnTheCommandLineIsSaidWithItsOption) {
  const CommandResult result =
      assay({"submit", "--command", "true", "--nodes", "0", "--time", "soon", "--no-code"});
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--time: expected a duration of 1s to 365d, such as 2h"));
  EXPECT_THAT(assay({"submit", "--command", "true", "--nodes", "0", "--no-code"}).err,
              HasSubstr("--nodes: expected a number from 1 to 100000, not 0"));
}

TEST_F(JobCommands, WhatWasMeantOtherwiseIsNotDoneInstead) {
  const auto error = [&](std::vector<std::string> words) {
    const CommandResult result = assay(std::move(words));
    EXPECT_NE(result.status.code, 0) << result.out;
    return result.err;
  };
  EXPECT_THAT(error({"submit", "--no-code", "--command", "true", "--schedule", ""}),
              AllOf(HasSubstr("--schedule"), HasSubstr("@yearly")));
  EXPECT_THAT(error({"submit", "--no-code", "--command", " "}), HasSubstr("the command is empty"));
  EXPECT_THAT(error({"queue", "nope"}), HasSubstr("there is no queue 'nope'"));
  EXPECT_THAT(error({"jobs", "--mine", "--owner", "ann"}), HasSubstr("--mine"));
  EXPECT_LT(error({"jobs", "--offset", "-1"}).size(), 200U);
  EXPECT_EQ(assay({"jobs", "--all"}).out, "No jobs.\n");
}

TEST_F(JobCommands, AScheduleIsCalledAsItIs) {
  ASSERT_EQ(
      assay({"submit", "--no-code", "--command", "true", "--name", "a@b", "--schedule", "@yearly"})
          .status.code,
      0);
  EXPECT_THAT(assay({"schedules"}).out, HasSubstr("a@b"));
  EXPECT_EQ(assay({"schedules", "rm", "a@b"}).status.code, 0);
  EXPECT_THAT(assay({"schedules"}).out, Not(HasSubstr("a@b")));
}

TEST_F(JobCommands, WhatCanNeverRunIsSaidBeforeItIsSubmitted) {
  const CommandResult result =
      assay({"submit", "--command", "true", "--nodes", "50", "--no-code", "--dry-run"});
  EXPECT_EQ(result.status.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Waits: "), HasSubstr("50")));
  EXPECT_EQ(assay({"jobs", "--all"}).out, "No jobs.\n");
}

TEST_F(JobCommands, AFailureIsTheOutcome) {
  const CommandResult result =
      assay({"submit", "--command", "exit 3", "--no-code", "--follow"}, std::chrono::seconds(150));
  EXPECT_EQ(result.status.code, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("job 1 is failed"));
}

TEST_F(JobCommands, AJobIsCancelled) {
  const long id = submit({"--command", "sleep 600"});
  ASSERT_TRUE(becomes(id, "running"));
  const std::string number = std::to_string(id);
  EXPECT_THAT(assay({"cancel", number}).out, HasSubstr("job " + number + " is kill"));
  EXPECT_TRUE(becomes(id, "killed"));
  // Twice is too often, and one that there is not cannot be.
  const CommandResult again = assay({"cancel", number, "4711"});
  EXPECT_EQ(again.status.code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("job " + number + ": "), HasSubstr("job 4711: ")));
}

TEST_F(JobCommands, AJobIsPausedAndGoesOn) {
  const long id = submit(
      {"--command", "[ \"$ASSAY_RESTART_COUNT\" -gt 0 ] && exec echo again; exec sleep 600"});
  ASSERT_TRUE(becomes(id, "running"));
  const std::string number = std::to_string(id);
  EXPECT_EQ(assay({"pause", number}).status.code, 0);
  ASSERT_TRUE(becomes(id, "paused"));
  EXPECT_EQ(assay({"resume", number}).status.code, 0);
  EXPECT_TRUE(becomes(id, "finished"));
  EXPECT_EQ(member_at(job(id), "life").value("restarts", 0), 1);
}

TEST_F(JobCommands, AnArrayIsOneJobForEachNumber) {
  const long first = submit({"--command", "echo element $ASSAY_ARRAY_INDEX", "--array", "3-5%1"});
  for (long id = first; id < first + 3; ++id) EXPECT_TRUE(becomes(id, "finished"));
  EXPECT_THAT(assay({"job", std::to_string(first + 2), "--logs"}).out, HasSubstr("element 5"));
  EXPECT_THAT(assay({"jobs", "--all"}).out, HasSubstr("[5]"));
  EXPECT_THAT(assay({"job", std::to_string(first + 2)}).out,
              HasSubstr(fmt::format("element 5 of the array that begins with job {}", first)));
  EXPECT_THAT(assay({"job", std::to_string(first), "--logs", "--rank", "7"}).err,
              HasSubstr(fmt::format("job {} has no rank 7", first)));
}

TEST_F(JobCommands, AJobWaitsForTheOneBeforeIt) {
  const fs::path fails = folder_ / "fails";  // not before the second one is there
  const long first =
      submit({"--command", "until [ -e '" + fails.string() + "' ]; do sleep 0.1; done; exit 1"});
  const long second = submit({"--command", "true", "--after", std::to_string(first)});
  write_file_atomic(fails, "");
  EXPECT_TRUE(becomes(second, "killed"));
  EXPECT_EQ(assay({"job", std::to_string(second), "--follow"}).status.code, 5);
  const CommandResult refused = assay(
      {"submit", "--no-code", "--command", "true", "--after", std::to_string(first), "--dry-run"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(fmt::format("can never run: job {} has not finished", first)));
}

TEST_F(JobCommands, ManyJobsAreCancelledAtOnce) {
  drain_the_node();
  const CommandResult made = assay({"submit", "--yes", "--no-code", "--command", "true", "--array",
                                    "1-300", "--format", "json"});
  ASSERT_EQ(made.status.code, 0) << made.err;
  const CommandResult cancelled = assay({"cancel", "3-250", "999"});
  EXPECT_EQ(cancelled.status.code, 2);
  EXPECT_THAT(cancelled.err, HasSubstr("job 999: there is no job 999"));
  EXPECT_THAT(cancelled.out, AllOf(HasSubstr("job 3 is killed"), HasSubstr("job 250 is killed")));
  const Json paused =
      parse_json_or_null(assay({"pause", "1", "2,251-300", "--format", "json"}).out);
  ASSERT_EQ(list_at(paused, "jobs").size(), 52U);
  EXPECT_EQ(text_at(list_at(paused, "jobs").at(0), "state"), "paused");
  EXPECT_TRUE(becomes(251, "paused"));
}

TEST_F(JobCommands, WhoWaitsInAClosedQueueIsListedInOrder) {
  drain_the_node();
  stop_server();
  const fs::path file = folder_ / "tester/cluster.json";
  Json cluster = parse_json(read_file(file), file.string());
  for (Json& queue : cluster["queues"]) queue["closed"] = true;
  write_file_atomic(file, dump_pretty(cluster));
  start_server();
  (void)submit({"--command", "true", "--name", "the-first"});
  (void)submit({"--command", "true", "--name", "the-second"});
  (void)submit({"--command", "true", "--name", "the-urgent", "--priority", "200"});
  const std::string shown = assay({"queue", "default"}).out;
  const std::size_t urgent = shown.find("the-urgent");
  const std::size_t first = shown.find("the-first");
  const std::size_t second = shown.find("the-second");
  EXPECT_LT(urgent, first) << shown;
  EXPECT_LT(first, second) << shown;
}

TEST_F(JobCommands, TheClusterIsShownAndDrained) {
  const CommandResult nodes = assay({"nodes", "--format", "json"});
  const std::string node = text_at(list_at(parse_json_or_null(nodes.out), "nodes").at(0), "name");
  EXPECT_EQ(assay({"nodes", "drain", node, "--reason", "new fan"}).status.code, 0);
  EXPECT_THAT(assay({"nodes"}).out, HasSubstr("drained by admin: new fan"));
  const long id = submit({"--command", "true"});
  EXPECT_THAT(assay({"queue"}).out, AllOf(HasSubstr("default"), HasSubstr("0 can be used now")));
  EXPECT_THAT(assay({"job", std::to_string(id)}).out, HasSubstr("is drained ('new fan')"));
  EXPECT_EQ(assay({"nodes", "undrain", node}).status.code, 0);
  EXPECT_TRUE(becomes(id, "finished"));
  EXPECT_THAT(assay({"usage"}).out, HasSubstr("admin"));
  EXPECT_THAT(assay({"usage", "--format", "csv"}).out, HasSubstr("device_hours"));
}

TEST_F(JobCommands, AServerThatIsDownIsSaid) {
  const std::string gone = url();
  stop_server();
  const CommandResult result = assay({"jobs", "--server", gone});
  EXPECT_EQ(result.status.code, 4);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the server cannot be reached"), HasSubstr(gone)));
  // It took its address away.
  EXPECT_EQ(assay({"jobs"}).status.code, 2);
}

TEST_F(JobCommands, AWrongTokenIsSaidAndNotShown) {
  ::setenv("ASSAY_TOKEN", "assay-wrong-token", 1);
  const CommandResult result = assay({"jobs"});
  ::unsetenv("ASSAY_TOKEN");
  EXPECT_EQ(result.status.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("assay login"), Not(HasSubstr("assay-wrong-token"))));
}

TEST_F(JobCommands, ALoginIsKept) {
  const CommandResult in =
      assay({"login", url(), "--token-file", (folder_ / "tester/admin.token").string()});
  EXPECT_EQ(in.status.code, 0) << in.err;
  EXPECT_THAT(in.out, HasSubstr("as admin (admin)"));
  fs::create_directories(folder_ / "elsewhere");
  EXPECT_TRUE(fs::exists(folder_ / "home/.config/assay/server.json"));
  EXPECT_EQ(assay({"jobs"}).out, "No jobs.\n");
}

TEST_F(JobCommands, ALoginWithAPasswordMakesATokenOfItsOwn) {
  const std::string program = (fs::path(ASSAY_BIN_DIR) / "assay").string();
  const auto typed = [&](const std::string& line, const std::string& command) {
    return run_command({"sh", "-c", "echo '" + line + "' | " + program + " " + command});
  };
  const std::string data = (folder_ / "tester").string();
  const CommandResult set =
      typed("correct horse battery", "serve user password admin --data " + data);
  ASSERT_EQ(set.status.code, 0) << set.err;
  for (int time = 1; time <= 2; ++time) {
    const CommandResult in = typed("correct horse battery", "login " + url() + " --user admin");
    EXPECT_EQ(in.status.code, 0) << in.err;
    EXPECT_THAT(in.out, HasSubstr("as admin (admin)"));
  }
  EXPECT_EQ(typed("wrong", "login " + url() + " --user admin").status.code, 3);
  EXPECT_EQ(assay({"jobs", "--server", url()}).out, "No jobs.\n");
}

}  // namespace
}  // namespace assay::e2e
