// Runs on several hosts that go on, or say who is to blame, when something is away: network
// namespaces with an sshd in each (docs/reliability.md).

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/files.h"
#include "core/time.h"
#include "e2e/net_namespaces.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class ClusterRuns : public AssayTest {
 protected:
  const std::string marker_ = "66." + std::to_string(::getpid());
  static constexpr const char* kRules =
      "    rules: {min-steps: off, min-duration: off, perflog-present: off}\n";

  void SetUp() override {
    AssayTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
  }
  [[nodiscard]] fs::path suite(const std::string& cases) {
    return write("suite.yaml",
                 "name: s\n" + hosts_.cluster("connect_timeout: 4s") + "cases:\n" + cases);
  }
  /// A case whose ranks run `script` with /bin/sh.
  [[nodiscard]] static std::string script_case(const std::string& name, int nodes,
                                               const std::string& script,
                                               const std::string& more = {}) {
    return "  - name: " + name + "\n    nodes: " + std::to_string(nodes) +
           "\n    command: [/bin/sh, -c, " + shell_in_yaml(script) + "]\n" + kRules + more;
  }
  static std::string shell_in_yaml(const std::string& script) {
    std::string out = "'";
    for (const char c : script) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
  }
  [[nodiscard]] static std::string reason_of(const Json& round) {
    return round["reason"].get<std::string>();
  }
  [[nodiscard]] Json findings(const std::string& rule) const {
    const Json all = result();
    for (const Json& finding : all["findings"])
      if (finding["rule"] == rule) return finding;
    return {};
  }

  NamespaceHosts hosts_{folder_, 3};
};

// The usual hang of a gang: one rank stands still, and the others wait and say so.
TEST_F(ClusterRuns, ARankThatStandsStillIsNamedAmongThoseThatWaitAndTalk) {
  const std::string step =
      R"(for i in 1 2 3; do echo "[PerfLog] {\"event\": \"STEP_END\", \"step\": $i}"; done; )";
  const fs::path file = suite(
      script_case("gang", 2,
                  step + "test $RANK = 0 || { echo the last words of rank 1; kill -STOP $$; }; "
                         "while :; do echo waiting for the others; sleep 0.3; done",
                  "    limits: {stall: 5s, time: 10m, grace: 500ms}\n"));
  const std::int64_t begin = mono_now_ns();
  const CommandResult run = assay({"run", file.string()}, 120s);
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_LT(mono_now_ns() - begin, 90'000'000'000) << "far from the time limit";
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "stalled");
  EXPECT_THAT(reason_of(round), HasSubstr("rank 1 on n2 made no step for"));
  EXPECT_THAT(reason_of(round), HasSubstr("stopped by a signal"));
  EXPECT_THAT(reason_of(round), HasSubstr("1 other rank waits for it"));
  EXPECT_THAT(round["findings"][0]["quote"].dump(), HasSubstr("the last words of rank 1"));
}

// One rank ends within its first second, before its node has sent a heartbeat.
TEST_F(ClusterRuns, ANodeThatEndedAtOnceDoesNotHideAHang) {
  const fs::path file =
      suite(script_case("early", 2, "test $RANK = 0 && exit 0; exec sleep " + marker_,
                        "    limits: {stall: 4s, time: 10m, grace: 500ms}\n"));
  const CommandResult run = assay({"run", file.string()}, 120s);
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "stalled");
  EXPECT_THAT(reason_of(round), HasSubstr("rank 1 on n2 silent for"));
}

TEST_F(ClusterRuns, NodesOfAHeadAreSampledToTheEndAndWhatCarriesTheMarkEndsWithTheRound) {
  // As mpirun does it: the head starts a process on the other node over ssh, with the round's mark.
  const std::string remote =
      hosts_.ssh_to(2, "ASSAY_ROUND_ID=$ASSAY_ROUND_ID setsid sleep " + marker_ +
                           " < /dev/null > /dev/null 2>&1 & sleep 0.1");
  const fs::path file = suite(script_case("head", 2, remote + "; echo started; sleep 14",
                                          "    launch: head\n    limits: {grace: 1s}\n"));
  const CommandResult run = assay({"run", file.string()}, 120s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
  EXPECT_THAT(read_file(latest() / "journal.jsonl"), HasSubstr("\"marked\":1"));
  for (const char* node : {"n1_noderank0", "n2_noderank1"}) {
    const std::string table = read_file(latest() / "head/round1" / node / "telemetry.csv");
    EXPECT_GE(std::ranges::count(table, '\n'), 10) << node << "\n" << table;
  }
  EXPECT_EQ(result()["cases"][0]["validity"], "VALID") << run.out;
}

TEST_F(ClusterRuns, ACutLinkToANodeThatAHeadUsesIsNoticed) {
  const fs::path file = suite(script_case("head", 2, "exec sleep " + marker_,
                                          "    launch: head\n    limits: {grace: 500ms}\n"));
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() == 1; }, 60s))
      << read_file_or_empty(folder_ / "assay.log");
  hosts_.net().cut(2);
  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status) << "nobody noticed";
  EXPECT_EQ(status->code, 5);
  EXPECT_THAT(reason_of(result()["cases"][0]["rounds"][0]), HasSubstr("the agent on n2 was lost"));
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
}

TEST_F(ClusterRuns, ASpareHostTakesThePlaceOfOneThatIsAway) {
  hosts_.net().cut(2);
  const fs::path file = suite(script_case("pair", 2, "echo here"));
  const CommandResult run = assay({"run", file.string()}, 120s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, HasSubstr("n2 is left out, n3 takes its place"));
  EXPECT_EQ(read_file(latest() / "pair/round1/n3_noderank1/rank1.out.log"), "here\n");
  EXPECT_THAT(findings("hosts-left-out")["reason"].get<std::string>(), HasSubstr("n2"));
  const Json nodes = read_json(latest() / "system.json")["nodes"];
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1]["host"], "n3");
}

TEST_F(ClusterRuns, WhatCanStillBeMeasuredIsAndTheRestIsRunWhenTheHostsAreBack) {
  hosts_.net().cut(1);
  hosts_.net().cut(3);
  const fs::path file =
      suite(script_case("pair", 2, "echo here") + script_case("single", 1, "echo alone"));
  const CommandResult run = assay({"run", file.string()}, 170s);
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_EQ(read_file(latest() / "single/round1/n2_noderank0/rank0.out.log"), "alone\n");
  Json cases = result()["cases"];
  EXPECT_EQ(cases[0]["skipped"]["cause"], "nodes") << cases[0].dump();
  EXPECT_THAT(cases[0]["skipped"]["reason"].get<std::string>(), HasSubstr("it needs 2 nodes"));

  hosts_.net().restore(1);
  hosts_.net().restore(3);
  const CommandResult resumed = assay({"run", "--resume", latest().string()}, 120s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  cases = result()["cases"];
  for (const Json& one : cases) EXPECT_EQ(one["rounds"][0]["status"], "completed");
}

TEST_F(ClusterRuns, AnExcludedHostIsNotUsedAndIsNoSpare) {
  hosts_.net().cut(2);
  std::string text = read_file(suite(script_case("pair", 2, "echo here")));
  text.insert(text.find("  hosts:"), "  exclude: [n1]\n");
  const CommandResult run = assay({"run", write("suite.yaml", text).string()}, 120s);
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("n2"));
  EXPECT_FALSE(fs::exists(hosts_.cache() / "n1")) << "nobody went there";

  hosts_.net().restore(2);
  const CommandResult again = assay({"run", (folder_ / "suite.yaml").string()}, 120s);
  EXPECT_EQ(again.status.code, 0) << again.out << again.err;
  EXPECT_EQ(read_file(latest() / "pair/round1/n2_noderank0/rank0.out.log"), "here\n");
  EXPECT_EQ(read_file(latest() / "pair/round1/n3_noderank1/rank1.out.log"), "here\n");
}

TEST_F(ClusterRuns, WithFewerHostsThanMinNodesNothingIsRun) {
  hosts_.net().cut(3);
  const fs::path file =
      suite(script_case("all", 3, "echo here") + script_case("single", 1, "echo alone"));
  const std::string text = read_file(file);
  const auto with_least = [&](int nodes) {
    std::string changed = text;
    changed.insert(changed.find("  hosts:"), "  min_nodes: " + std::to_string(nodes) + "\n");
    return assay({"run", write("suite.yaml", changed).string()}, 120s);
  };
  const CommandResult three = with_least(3);
  EXPECT_EQ(three.status.code, 4) << three.out << three.err;
  EXPECT_THAT(three.err, HasSubstr("n3"));
  EXPECT_FALSE(fs::exists(latest() / "single")) << "not even what one host could run";
  const CommandResult two = with_least(2);
  EXPECT_EQ(two.status.code, 5) << two.out << two.err;
  EXPECT_EQ(read_file(latest() / "single/round1/n1_noderank0/rank0.out.log"), "alone\n");
}

TEST_F(ClusterRuns, LogsAreSeenWhileTheRoundRuns) {
  const fs::path go_on = folder_ / "go-on";
  const fs::path file = suite(script_case(
      "talk", 2,
      "i=0; while ! test -e " + go_on.string() +
          "; do i=$((i+1)); echo tick $i of rank $RANK; sleep 0.3; done; echo the end"));
  const pid_t pid = start({"run", file.string()});
  const auto shown = [&] {
    if (!fs::exists(folder_ / "results/latest")) return std::string();
    return assay({"logs", latest().string(), "--rank", "1"}).out;
  };
  ASSERT_TRUE(
      eventually([&] { return shown().find("tick 2 of rank 1\n") != std::string::npos; }, 60s))
      << read_file_or_empty(folder_ / "assay.log");
  EXPECT_THAT(assay({"logs", latest().string()}).out, HasSubstr("so far"));
  EXPECT_THAT(assay({"top", latest().string(), "--once"}).out, HasSubstr("n2"));
  std::ofstream(go_on) << "go";
  const CommandResult follow = assay({"logs", latest().string(), "-f"}, 60s);
  EXPECT_EQ(follow.status.code, 0) << follow.err;
  EXPECT_THAT(follow.out, HasSubstr("[1] tick "));
  EXPECT_THAT(follow.out, HasSubstr("[1] the end\n")) << "also what came with the log itself";
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  EXPECT_FALSE(fs::exists(latest() / "live-logs"));
  EXPECT_THAT(assay({"logs", latest().string(), "--rank", "1"}).out, HasSubstr("the end\n"));
}

}  // namespace assay::e2e
