#include <csignal>
#include <fstream>

#include <unistd.h>

#include "core/subprocess.h"
#include "launch/run_records.h"
#include "unit/launch/run_loop_test.h"

namespace assay::launch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Cases a, b and c with one round each.
class PreconditionTest : public RunLoopTest {
 protected:
  PreconditionTest() {
    plan_.cases.emplace_back().name = "c";
    for (plan::CasePlan& plan_case : plan_.cases) plan_case.repeats = 1;
  }
  static plan::Hook hook(const std::string& name, plan::HookTime when, const std::string& script,
                         Nanoseconds time = std::chrono::seconds(60)) {
    plan::Hook out;
    out.name = name;
    out.when = when;
    out.command = {"/bin/sh", "-c", script};
    out.time = time;
    return out;
  }
  plan::Hook on_nodes(const std::string& name, plan::HookTime when) {
    plan::Hook out = hook(name, when, "");
    out.on = plan::HookPlace::nodes;
    return out;
  }
  [[nodiscard]] std::string journal_text() const {
    return read_file(folder_.path() / "run1" / "journal.jsonl");
  }
  [[nodiscard]] std::vector<std::string> skips() const {
    std::vector<std::string> out;
    for (const Json& line : store::Journal::read(folder_.path() / "run1" / "journal.jsonl"))
      if (line["event"] == "case_skipped")
        out.push_back(line.value("case", "") + " " + line.value("cause", "") + ": " +
                      line.value("reason", ""));
    return out;
  }
  [[nodiscard]] std::string output(const std::string& hook_folder, int round = 1) const {
    return read_file_or_empty(folder_.path() / "run1" / hook_folder /
                              ("round" + std::to_string(round)) / "hook.log");
  }
  static constexpr auto kBefore = plan::HookTime::before;
  static constexpr auto kAfter = plan::HookTime::after;
};

TEST_F(PreconditionTest, WhatComesAfterACaseThatFailedIsSkippedAndTakesItsOwnAlong) {
  plan_.cases[1].after = {"a"};
  plan_.cases[2].after = {"b"};
  script_.outcomes = {{RoundStatus::failed, "exit 1"}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "close"));
  EXPECT_THAT(
      skips(),
      ElementsAre("b dependency: it comes after 'a', which did not complete: round 1 failed",
                  "c dependency: it comes after 'b', which was skipped"));
}

TEST_F(PreconditionTest, WhatComesAfterACaseThatCompletedIsRun) {
  plan_.cases[1].after = {"a"};
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "b 1", "c 1", "close"));
}

TEST_F(PreconditionTest, ResumingWithFailedRunsWhatWasSkippedForIt) {
  plan_.cases[1].after = {"a"};
  script_.outcomes = {{RoundStatus::failed, "exit 1"}};
  (void)execute();
  EXPECT_EQ(execute(), RunStatus::failed) << "a failure is a result";
  EXPECT_EQ(reopen_failed_rounds(store::RunDir::open(folder_.path() / "run1")), 1);
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 1", "b 1", "close"));
}

TEST_F(PreconditionTest, ACaseWhoseConditionDoesNotHoldIsSkippedAndTheRunIsFine) {
  plan_.cases[1].only_if = {{"a", {"VALID"}}};
  unmet_ = [](const plan::CasePlan&) { return std::optional<std::string>("a is INVALID"); };
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "c 1", "close"));
  EXPECT_THAT(skips(), ElementsAre("b condition: a is INVALID"));
}

TEST_F(PreconditionTest, AConditionThatNobodyCanJudgeDoesNotHold) {
  plan_.cases[1].only_if = {{"a", {"VALID"}}};
  (void)execute();
  EXPECT_EQ(skips().size(), 1U);
}

TEST_F(PreconditionTest, HooksRunAroundTheirCase) {
  plan_.cases.resize(1);
  const std::string log = (folder_.path() / "order").string();
  plan_.hooks = {hook("all", kBefore, "echo all >> " + log),
                 hook("end", kAfter, "echo end >> " + log)};
  plan_.cases[0].hooks = {hook("pre", kBefore, "echo pre $ASSAY_CASE >> " + log),
                          hook("post", kAfter, "echo post >> " + log)};
  script_.during_round = [&](const RoundTask&) { std::ofstream(log, std::ios::app) << "round\n"; };
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(read_file(log), "all\npre a\nround\npost\nend\n");
  EXPECT_THAT(
      journal("round_end"),
      ElementsAre("hook.before.all1 completed", "hook.before.pre.a1 completed", "a1 completed",
                  "hook.after.post.a1 completed", "hook.after.end1 completed"));
}

TEST_F(PreconditionTest, AHookThatFailsSkipsItsCaseAndIsCleanedUpAfter) {
  plan_.cases.resize(2);
  plan_.cases[0].hooks = {hook("pre", kBefore, "echo no such data >&2; exit 3"),
                          hook("post", kAfter, "true")};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "b 1", "close"));
  EXPECT_THAT(skips(), ElementsAre(AllOf(HasSubstr("a hook: the hook 'pre' before 'a' failed"),
                                         HasSubstr("exit 3: no such data"))));
  EXPECT_EQ(output("hook.before.pre.a"), "no such data\n");
  EXPECT_THAT(journal_text(), HasSubstr("hook.after.post.a"));
}

TEST_F(PreconditionTest, AHookThatMayFailIsAWarning) {
  plan_.cases.resize(1);
  plan_.cases[0].hooks = {hook("pre", kBefore, "exit 1")};
  plan_.cases[0].hooks[0].required = false;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(observer_.warnings, ElementsAre(HasSubstr("hook 'pre' before 'a' failed")));
}

TEST_F(PreconditionTest, AFailedHookBeforeAllSkipsEveryCase) {
  plan_.hooks = {hook("pre", kBefore, "exit 1")};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "close"));
  EXPECT_EQ(skips().size(), 3U);
  plan_.hooks.clear();
  script_.calls.clear();
}

TEST_F(PreconditionTest, AProgramThatDoesNotExistIsNamed) {
  plan_.cases.resize(1);
  plan_.hooks = {hook("pre", kBefore, "")};
  plan_.hooks[0].command = {"/no/such/program"};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(skips(), ElementsAre(HasSubstr("/no/such/program")));
}

TEST_F(PreconditionTest, AHookThatHangsIgnoresSigtermAndForksIsEndedWithAllOfIt) {
  plan_.cases.resize(1);
  const std::string marker = "27.18" + std::to_string(::getpid());
  plan_.hooks = {hook("pre", kBefore,
                      "trap '' TERM; (trap '' TERM; setsid sleep " + marker + ") & sleep " +
                          marker + "; sleep " + marker,
                      std::chrono::milliseconds(300))};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(skips(), ElementsAre(AllOf(HasSubstr("the hook 'pre' before all cases failed"),
                                         HasSubstr("ignored SIGTERM"))));
  const CommandResult left = run_command({"pgrep", "-f", "sleep " + marker});
  EXPECT_EQ(left.out, "") << "nothing is left of it";
}

TEST_F(PreconditionTest, AHookThatLeavesADaemonBehindIsSweptThoughItPassed) {
  plan_.cases.resize(1);
  const std::string marker = "16.18" + std::to_string(::getpid());
  plan_.hooks = {hook("pre", kBefore, "setsid sleep " + marker + " >/dev/null 2>&1 &")};
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(run_command({"pgrep", "-f", "sleep " + marker}).out, "");
}

TEST_F(PreconditionTest, OfAFloodTheBeginningIsKept) {
  plan_.cases.resize(1);
  plan_.hooks = {hook("pre", kBefore, "head -c 5000000 /dev/zero | tr '\\0' x")};
  EXPECT_EQ(execute(), RunStatus::completed);
  const std::string kept = output("hook.before.pre");
  EXPECT_LT(kept.size(), 1100000U);
  EXPECT_THAT(kept, HasSubstr("more bytes were not kept"));
}

TEST_F(PreconditionTest, HooksOnNodesAreRoundsOfTheBackend) {
  plan_.cases.resize(1);
  plan_.cases[0].nodes = 3;
  plan_.hooks = {on_nodes("all", kBefore)};
  plan_.cases[0].hooks = {on_nodes("pre", kBefore)};
  std::vector<int> nodes;
  script_.during_round = [&](const RoundTask& task) { nodes.push_back(task.plan_case.nodes); };
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "hook.before.all 1",
                                         "hook.before.pre.a 1", "a 1", "close"));
  EXPECT_THAT(nodes, ElementsAre(3, 3, 3));
}

TEST_F(PreconditionTest, ResumingRunsTheHooksOfWhatIsLeftAndNoOthers) {
  plan_.cases.resize(2);
  for (plan::CasePlan& plan_case : plan_.cases)
    plan_case.hooks = {on_nodes("pre", kBefore), on_nodes("post", kAfter)};
  script_.during_round = [](const RoundTask& task) {
    if (task.plan_case.name == "b") ::raise(SIGTERM);
  };
  script_.outcomes = {{}, {}, {}, {}, {RoundStatus::interrupted, "stopped by the user"}};
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_THAT(journal("round_end").back(), HasSubstr("b1 interrupted"));
  script_.during_round = {};
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls,
              ElementsAre("prepare", "hook.before.pre.b 2", "b 1", "hook.after.post.b 1", "close"));
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre());
}

TEST_F(PreconditionTest, WhatAHookLeftWhoseControllerWasKilledIsSweptByTheNext) {
  plan_.cases.resize(1);
  plan_.hooks = {hook("pre", kBefore, "true")};
  const store::RunDir run = store::RunDir::create(folder_.path(), plan_);
  store::Journal(run.journal_file())
      .append(store::JournalEvent::round_start,
              {{"case", "hook.before.pre"}, {"round", 1}, {"processes", "left/behind/1"}});
  SpawnOptions options;
  options.argv = {"sleep", "60"};
  options.env = environment_with({"ASSAY_ROUND_ID=left/behind/1"});
  Child left = spawn(options);
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(left.wait().signal, SIGKILL);
  EXPECT_THAT(journal("round_end"), ElementsAre("hook.before.pre2 completed", "a1 completed"));
}

TEST_F(PreconditionTest, InterruptingAHookEndsItAndTheRun) {
  plan_.cases.resize(1);
  plan_.hooks = {hook("pre", kBefore, "kill -TERM $PPID; sleep 60")};
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_THAT(journal("round_end"), ElementsAre("hook.before.pre1 interrupted"));
  EXPECT_TRUE(skips().empty()) << "nothing failed";
}

}  // namespace
}  // namespace assay::launch
