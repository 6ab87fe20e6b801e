// Hosts whose link is cut during a round: network namespaces with an sshd in each
// (docs/reliability.md).

#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/files.h"
#include "core/time.h"
#include "e2e/net_namespaces.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class LinkFaults : public AssayTest {
 protected:
  // Tests run side by side: each knows its own processes.
  const std::string marker_ = "64." + std::to_string(::getpid());

  void SetUp() override {
    AssayTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
  }
  [[nodiscard]] std::vector<pid_t> agents(int host) const {
    return processes_with((hosts_.cache() / NamespaceHosts::host(host)).string());
  }

  NamespaceHosts hosts_{folder_, 2};
};

TEST_F(LinkFaults, ACutLinkEndsTheRoundOnBothSidesAndTheRunResumes) {
  const fs::path file =
      write("suite.yaml", "name: s\n" + hosts_.cluster("connect_timeout: 5s") +
                              "cases:\n  - name: probe\n    nodes: 2\n    limits: {grace: 500ms}\n"
                              "    command: [/bin/sh, -c, 'echo started; test -e " +
                              (folder_ / "again").string() + " || exec sleep " + marker_ +
                              "']\n    rules: {min-steps: off, min-duration: off, "
                              "perflog-present: off}\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() == 2; }, 30s))
      << read_file_or_empty(folder_ / "assay.log");
  ASSERT_FALSE(agents(2).empty());
  const std::int64_t cut = mono_now_ns();
  hosts_.net().cut(2);

  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status) << "assay still waits for a host behind a cut link";
  EXPECT_EQ(status->code, 5) << read_file(folder_ / "assay.log");
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "lost");
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("the agent on n2 was lost"));
  EXPECT_THAT(round["reason"].get<std::string>(), Not(HasSubstr("n1")));
  EXPECT_EQ(read_file(latest() / "probe/round1/n1_noderank0/rank0.out.log"), "started\n");

  // Nobody can tell the host: its agent ends its rank and itself when it hears nothing for 30 s.
  const auto gone = [&] { return agents(2).empty() && processes_with("sleep " + marker_).empty(); };
  EXPECT_TRUE(eventually(gone, 60s)) << "something was left on the host behind the cut link";
  RecordProperty("seconds_until_nothing_was_left",
                 static_cast<int>((mono_now_ns() - cut) / 1'000'000'000));

  hosts_.net().restore(2);
  std::ofstream(folder_ / "again") << "go";
  const CommandResult resumed = assay({"run", "--resume", latest().string()});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

TEST_F(LinkFaults, ALinkThatComesBackAfterThreeSecondsDisturbsNothing) {
  const fs::path file =
      write("suite.yaml", "name: s\n" + hosts_.cluster() +
                              "cases:\n  - {case: 'null:native:cpu:2:1:1', config: {steps: 800, "
                              "step_ms: 10}}\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually(
      [&] { return fs::exists(folder_ / "results/latest") && fs::exists(latest() / "live.json"); },
      30s))
      << read_file_or_empty(folder_ / "assay.log");
  hosts_.net().cut(2);
  ::usleep(3'000'000);
  hosts_.net().restore(2);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["validity"], "VALID");
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(round["ranks"][rank]["steps"], 800);
}

}  // namespace assay::e2e
