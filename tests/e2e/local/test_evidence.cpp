// What a run says about its files, checked by other programs: sha256sum, openssl, and
// docs/evidence.py.

#include <algorithm>

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/harness.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class Evidence : public AssayTest {
 protected:
  [[nodiscard]] CommandResult check() const {
    return run_command({"python3", ASSAY_SOURCE_DIR "/docs/evidence.py", latest().string()});
  }
  [[nodiscard]] std::vector<Json> journal(const std::string& event) const {
    std::vector<Json> out;
    const std::string text = read_file(latest() / "journal.jsonl");
    for (const std::string_view line : split(text, '\n'))
      if (const Json json = parse_json_or_null(line); json.is_object() && json["event"] == event)
        out.push_back(json);
    return out;
  }
  [[nodiscard]] fs::path node_folder(const Json& event) const {
    return latest() / event["case"].get<std::string>() /
           ("round" + std::to_string(event["round"].get<int>())) /
           (event["host"].get<std::string>() + "_noderank0");
  }
};

constexpr const char* kSuite =
    "name: tiny\n"
    "telemetry: {interval: 0.2s}\n"
    "cases:\n"
    "  - case: null:native:cpu:1:2:2\n"
    "    config: {steps: 60, step_ms: 20}\n";

TEST_F(Evidence, ListsOfARunAreWhatSha256sumSays) {
  ASSERT_EQ(assay({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  const std::vector<Json> ends = journal("node_end");
  ASSERT_EQ(ends.size(), 2U);
  for (const Json& end : ends) {
    std::vector<std::string> names;
    for (const Json& file : end["files"]) {
      const fs::path path = node_folder(end) / file["name"].get<std::string>();
      names.push_back(file["name"]);
      EXPECT_EQ(fs::file_size(path), file["bytes"]);
      EXPECT_THAT(run_command({"sha256sum", path.string()}).out,
                  ::testing::StartsWith(file["sha256"].get<std::string>() + " "));
      EXPECT_THAT(run_command({"wc", "-l", path.string()}).out,
                  ::testing::StartsWith(std::to_string(file["lines"].get<int>()) + " "));
    }
    EXPECT_THAT(names,
                ::testing::UnorderedElementsAre("config.json", "rank0.out.log", "rank1.out.log",
                                                "telemetry.csv", "evidence.jsonl"));
  }
  EXPECT_GE(journal("chain").size(), 2U);
  EXPECT_TRUE(journal("chain")[0].contains("seen_wall_ns")) << "the controller's own stamp";
}

TEST_F(Evidence, AnIndependentCheckerFindsAnUntouchedRunInOrderAndEveryChange) {
  ASSERT_EQ(assay({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  const CommandResult whole = check();
  EXPECT_EQ(whole.status.code, 0) << whole.out << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("signed by ed25519:"));
  EXPECT_THAT(whole.out, HasSubstr("everything fits"));
  const CommandResult key = assay({"key", "show"});
  EXPECT_THAT(whole.out, HasSubstr(key.out.substr(0, key.out.find('\n'))));

  const fs::path node = node_folder(journal("node_end")[1]);
  const auto changed = [&](const fs::path& path, std::size_t at) {
    const std::string before = read_file(path);
    std::string after = before;
    after.at(at) = static_cast<char>(after.at(at) ^ 1);
    write_file_atomic(path, after);
    const CommandResult result = check();
    write_file_atomic(path, before);
    return result.out + result.err;
  };
  EXPECT_THAT(changed(node / "rank1.out.log", 30),
              HasSubstr("rank1.out.log is not as it was listed"));
  EXPECT_THAT(changed(node / "evidence.jsonl", 20), HasSubstr("evidence.jsonl:1 does not follow"));
  EXPECT_THAT(changed(latest() / "plan.json", 3), HasSubstr("plan.json is not as it was listed"));
  const std::string seal = read_file(latest() / "seal.json");
  EXPECT_THAT(changed(latest() / "seal.json", seal.find("signed_at") + 20),
              HasSubstr("the signature is wrong"));
  EXPECT_EQ(check().status.code, 0);
}

TEST_F(Evidence, AnIndependentCheckerNamesFilesThatAreOnNoList) {
  ASSERT_EQ(assay({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  const fs::path node = node_folder(journal("node_end")[1]);
  const auto added = [&](const fs::path& path) {
    fs::create_directories(path.parent_path());
    write_file_atomic(path, "x");
    const CommandResult result = check();
    fs::remove(path);
    return std::to_string(*result.status.code) + " " + result.out;
  };
  for (const fs::path& path :
       {node / "rank7.out.log", node / "set_result.jsonl", node.parent_path() / "results/a.json",
        node.parent_path() / "automl/journal.jsonl", node.parent_path() / "hook.log",
        latest() / "other/round1/host_noderank0/rank0.out.log"})
    EXPECT_THAT(added(path), ::testing::AllOf(::testing::StartsWith("1 "),
                                              HasSubstr(path.string() + " is on no list\n")));
  EXPECT_THAT(added(node / "core.1234"),
              ::testing::AllOf(::testing::StartsWith("0 "),
                               HasSubstr("core.1234 is on no list, and nobody reads it"),
                               HasSubstr("everything fits")));
  EXPECT_THAT(added(node / "agent.log"), ::testing::StartsWith("0 "));
}

TEST_F(Evidence, OfAKilledRunShowsThatItsPlanWasChanged) {
  const std::string marker = "27.1828" + std::to_string(::getpid());
  const fs::path suite = script_suite("echo hello\nexec sleep " + marker + "\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 1; }));
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 30s));
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).empty(); }));
  const std::string plan = read_file(latest() / "plan.json");
  write_file_atomic(latest() / "plan.json", plan + "\n");
  EXPECT_THAT(assay({"report", latest().string()}).out,
              HasSubstr("plan.json is not what the journal recorded"));
  EXPECT_EQ(result()["validity"], "INVALID");
  EXPECT_THAT(check().out, HasSubstr("plan.json is not as it was listed"));
  const CommandResult refused = assay({"run", "--resume", latest().string()});
  EXPECT_EQ(refused.status.code, 6);
  EXPECT_THAT(refused.err, HasSubstr("plan.json is not what the journal recorded"));
  write_file_atomic(latest() / "plan.json", plan);
  EXPECT_THAT(assay({"report", latest().string()}).out,
              ::testing::Not(HasSubstr("what the journal recorded")));
}

TEST_F(Evidence, OfALogOverItsLimitIsListedAsItIs) {
  const fs::path file = script_suite("yes 0123456789012345678901234567890 | head -c 20000000",
                                     "    limits: {output: 16M}\n");
  (void)assay({"run", file.string()});
  EXPECT_TRUE(fs::exists(node_folder(journal("node_end").at(0)) / "rank0.out.log.head"));
  const CommandResult result = check();
  EXPECT_EQ(result.status.code, 0) << result.out << result.err;
}

TEST_F(Evidence, OfARunThatCannotBeSignedSaysSo) {
  ::setenv("ASSAY_KEYS", "/dev/null/keys", 1);
  const CommandResult run = assay({"run", script_suite("echo hello").string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("VALID"));
  EXPECT_THAT(run.out + run.err, HasSubstr("warning: the run is not signed: "));
  EXPECT_THAT(check().out, HasSubstr("nobody signed this run"));
}

TEST_F(Evidence, OfAFinishedRunIsLeftAsItIsByResumeAndRefusedWhereItWasChanged) {
  ASSERT_EQ(assay({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  const std::string seal = read_file(latest() / "seal.json");
  const std::string journal = read_file(latest() / "journal.jsonl");
  EXPECT_EQ(assay({"run", "--resume", latest().string()}).status.code, 0);
  EXPECT_EQ(read_file(latest() / "seal.json"), seal);
  EXPECT_EQ(read_file(latest() / "journal.jsonl"), journal);

  write_file_atomic(latest() / "journal.jsonl", journal + "\n");
  const CommandResult refused = assay({"run", "--resume", latest().string()});
  EXPECT_EQ(refused.status.code, 6);
  EXPECT_THAT(refused.err, HasSubstr("journal.jsonl is not what was sealed"));
  EXPECT_THAT(refused.err, HasSubstr("start a new run"));
  EXPECT_EQ(read_file(latest() / "seal.json"), seal);
}

TEST_F(Evidence, WithoutAJournalIsInvalidAndTheExitCodeSaysSo) {
  ASSERT_EQ(assay({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  write_file_atomic(latest() / "journal.jsonl", "");
  EXPECT_EQ(assay({"report", latest().string()}).status.code, 6);
  EXPECT_EQ(result()["validity"], "INVALID");
}

TEST_F(Evidence, IsJudgedAndShownWhereReportsCannotBeWritten) {
  ASSERT_EQ(assay({"run", write("tiny.yaml", kSuite).string()}).status.code, 0);
  fs::remove(latest() / "report.html");
  fs::create_directories(latest() / "report.html/in the way");
  const CommandResult report = assay({"report", latest().string()});
  EXPECT_EQ(report.status.code, 3);
  EXPECT_THAT(report.out + report.err, HasSubstr("VALID"));
  EXPECT_THAT(report.err, HasSubstr("the reports could not be written"));
  EXPECT_THAT(report.err, ::testing::Not(HasSubstr("--out")));
}

TEST_F(Evidence, OfALostAgentIsListedByTheController) {
  const std::string marker = "31.4159" + std::to_string(::getpid());
  const fs::path suite = script_suite("echo hello\nexec sleep " + marker + "\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 1; }));
  ASSERT_EQ(agents_of(pid).size(), 1U);
  send_signal(agents_of(pid)[0], SIGKILL);
  ASSERT_TRUE(wait(pid, 30s));
  EXPECT_TRUE(journal("node_end").empty());
  const Json files = journal("round_files").at(0)["files"];
  EXPECT_TRUE(std::ranges::any_of(files, [](const Json& file) {
    return file["name"].get<std::string>().ends_with("_noderank0/rank0.out.log");
  })) << files;
  EXPECT_EQ(check().status.code, 0);
}

TEST_F(Evidence, KeysAreShownTrustedAndForgotten) {
  EXPECT_EQ(assay({"key", "show"}).status.code, 3);
  const std::string made = assay({"key", "new"}).out;
  EXPECT_EQ(assay({"key", "show"}).out, made);
  EXPECT_THAT(made, HasSubstr("\nSHA256:"));
  const std::string key = made.substr(0, made.find('\n'));
  EXPECT_EQ(assay({"key", "trust", "lab", key}).status.code, 0);
  EXPECT_THAT(assay({"key", "list"}).out, HasSubstr("lab "));
  EXPECT_EQ(assay({"key", "trust", "lab", "nonsense"}).status.code, 2);
  EXPECT_EQ(assay({"key", "distrust", "lab"}).status.code, 0);
  const CommandResult again = assay({"key", "distrust", "lab"});
  EXPECT_EQ(again.status.code, 2);
  EXPECT_THAT(again.err, HasSubstr("no key is trusted as 'lab'"));
  EXPECT_EQ(assay({"key"}).status.code, 2);
}

}  // namespace assay::e2e
