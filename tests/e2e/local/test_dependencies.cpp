// Cases that depend on each other, and hooks.

#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/files.h"
#include "e2e/ssh_hosts.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Dependencies : public AssayTest {
 protected:
  [[nodiscard]] Json case_named(const std::string& name) const {
    const Json made = result();
    for (const Json& one : made["cases"])
      if (one["name"] == name) return one;
    return {};
  }
};

TEST_F(Dependencies, AFailureSkipsWhatComesAfterAndAConditionChoosesWhatIsRun) {
  const fs::path suite = write("suite.yaml", R"(
cases:
  - {name: late, command: 'true', after: [build, measure]}
  - {name: build, command: 'test -e mended', workdir: FOLDER}
  - name: measure
    shell: true
    command: 'echo rate: 50'
    metrics: {rate: {match: 'rate: (\d+)', better: higher}}
  - {name: fast, command: 'true', only_if: {case: measure, metric: rate, min: 100}}
  - {name: slow, command: 'true', only_if: {case: measure, metric: rate, max: 99}}
  - {name: diagnose, command: 'true', only_if: {case: build, verdict: [INVALID, INCOMPLETE]}}
)");
  std::string text = read_file(suite);
  text.replace(text.find("FOLDER"), 6, folder_.string());
  std::ofstream(suite) << text;
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_EQ(case_named("late")["skipped"]["cause"], "dependency");
  EXPECT_EQ(case_named("fast")["skipped"]["cause"], "condition");
  EXPECT_EQ(case_named("fast")["skipped"]["reason"], "rate of 'measure' is 50, below 100");
  EXPECT_EQ(case_named("slow")["validity"], "VALID");
  EXPECT_EQ(case_named("diagnose")["validity"], "VALID");
  EXPECT_THAT(run.out, AllOf(HasSubstr("SKIPPED"), HasSubstr("2 skipped"),
                             HasSubstr("it comes after 'build', which did not complete")));
  EXPECT_THAT(read_file(latest() / "report.html"), HasSubstr("SKIPPED"));
  EXPECT_THAT(read_file(latest() / "junit.xml"),
              AllOf(HasSubstr("skipped=\"2\""), HasSubstr("<skipped message=\"it comes after")));

  // What was repaired is run again, and what was skipped for it.
  std::ofstream(folder_ / "mended") << "yes";
  const CommandResult again = assay({"run", "--resume", latest().string(), "--failed"});
  EXPECT_EQ(case_named("late")["validity"], "VALID") << again.out << again.err;
  EXPECT_EQ(case_named("fast")["skipped"]["cause"], "condition");
  EXPECT_EQ(again.status.code, 0) << again.out << again.err;
  EXPECT_EQ(result()["validity"], "VALID");
}

TEST_F(Dependencies, HooksLeaveEvidenceAndAVerdict) {
  const fs::path suite = write("suite.yaml", R"(
hooks:
  before: [{name: here, command: 'echo on the controller in $ASSAY_RUN_DIR', shell: true}]
  after: [{name: there, command: 'echo host {host}', on: nodes}]
cases:
  - name: fine
    command: 'true'
    hooks: {before: {name: ready, command: 'echo $ASSAY_CASE', shell: true, on: nodes}}
  - name: broken
    command: 'true'
    hooks:
      before: [{name: data, command: 'echo no data here; exit 9', shell: true, on: nodes}]
      after: ['true']
  - name: next
    command: 'true'
    after: broken
)");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  const Json made = result();
  EXPECT_EQ(made["validity"], "INCOMPLETE");
  EXPECT_EQ(made["hooks"][0]["verdict"], "passed");
  EXPECT_EQ(made["hooks"][1]["verdict"], "passed");
  EXPECT_EQ(case_named("fine")["hooks"][0]["verdict"], "passed");
  EXPECT_EQ(case_named("fine")["validity"], "VALID");
  EXPECT_EQ(case_named("broken")["hooks"][0]["verdict"], "failed");
  EXPECT_EQ(case_named("broken")["hooks"][1]["verdict"], "passed");
  EXPECT_EQ(case_named("broken")["skipped"]["cause"], "hook");
  EXPECT_EQ(case_named("next")["skipped"]["cause"], "dependency");
  EXPECT_THAT(run.out, HasSubstr("the hook 'data' before 'broken' failed"));
  EXPECT_THAT(read_file(latest() / "hook.before.here/round1/hook.log"),
              HasSubstr("on the controller in " + latest().string()));
  const fs::path node = *fs::directory_iterator(latest() / "hook.before.ready.fine/round1");
  EXPECT_THAT(read_file(node / "rank0.out.log"), HasSubstr("fine"));
  EXPECT_THAT(read_file(latest() / "junit.xml"), HasSubstr("hook before data"));

  // Output that was changed since is not fine.
  fs::permissions(latest() / "hook.before.here/round1/hook.log", fs::perms::owner_write,
                  fs::perm_options::add);
  std::ofstream(latest() / "hook.before.here/round1/hook.log") << "something else\n";
  (void)assay({"report", latest().string()});
  EXPECT_EQ(result()["validity"], "INVALID");
  EXPECT_EQ(result()["seal"]["state"], "flawed");
}

TEST_F(Dependencies, AHookOnNodesThatHangsIsEndedAndNamed) {
  const std::string marker = "14.14" + std::to_string(::getpid());
  const fs::path suite = write("suite.yaml",
                               "hooks: {before: {name: stuck, command: \"trap '' TERM; "
                               "setsid sleep " +
                                   marker + " & sleep " + marker + "; sleep " + marker +
                                   "\", shell: true, on: nodes, "
                                   "time: 1s}}\ncases: [{name: a, command: 'true'}]\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_EQ(result()["hooks"][0]["verdict"], "timed_out");
  EXPECT_EQ(case_named("a")["skipped"]["cause"], "hook");
  EXPECT_THAT(run.out, HasSubstr("hook 'stuck' before all cases failed"));
  EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker).empty(); }));
}

TEST_F(Dependencies, ASkipThatWasPutIntoTheJournalIsSeen) {
  const fs::path suite = write("suite.yaml", "cases: [{name: a, command: 'true'}]\n");
  const CommandResult run = assay({"run", suite.string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  std::ofstream(latest() / "journal.jsonl", std::ios::app)
      << R"({"event":"case_skipped","case":"a","cause":"condition","reason":"x"})"
      << "\n";
  (void)assay({"report", latest().string()});
  EXPECT_NE(result()["validity"], "VALID");
  EXPECT_THAT(case_named("a")["findings"].dump(), HasSubstr("skip-founded"));
}

class HooksOverSsh : public SshTest {};

TEST_F(HooksOverSsh, RunOnEveryHostAndOneThatFailsIsNamed) {
  const fs::path suite = write("suite.yaml", sshd_.cluster(2) + R"(
hooks: {before: {name: look, command: 'echo hook on {host}', on: nodes}}
cases:
  - name: a
    nodes: 2
    command: 'true'
    hooks: {after: {name: check, command: 'test {node_rank} = 0', on: nodes}}
)");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  for (int node = 0; node < 2; ++node) {
    const std::string host = SshDaemon::host(node + 1);
    EXPECT_THAT(read_file(latest() / "hook.before.look/round1" /
                          (host + "_noderank" + std::to_string(node)) /
                          ("rank" + std::to_string(node) + ".out.log")),
                HasSubstr("hook on " + host));
  }
  const Json made = result();
  EXPECT_EQ(made["hooks"][0]["verdict"], "passed");
  EXPECT_EQ(made["cases"][0]["validity"], "VALID");
  EXPECT_EQ(made["cases"][0]["hooks"][0]["verdict"], "failed");
  EXPECT_THAT(made["cases"][0]["hooks"][0]["reason"].get<std::string>(),
              HasSubstr(SshDaemon::host(2)));
}

TEST_F(Dependencies, TheExampleRunsOnAnyMachine) {
  const CommandResult run = assay({"run", ASSAY_SOURCE_DIR "/examples/dependencies.yaml"});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("SKIPPED"));
}

}  // namespace assay::e2e
