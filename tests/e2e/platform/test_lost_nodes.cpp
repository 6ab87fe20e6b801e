// Nodes that ssh reaches, and that are lost: what becomes of their jobs.

#include <csignal>
#include <cstdint>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json_access.h"
#include "e2e/platform/platform_test.h"
#include "e2e/ssh_hosts.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

/// A node with an sshd of its own.
struct SshNode {
  SshNode(const fs::path& folder, int number)
      : name("n" + std::to_string(number)), address(SshDaemon::host(number)), sshd(made(folder)) {}
  ~SshNode() {
    for (const pid_t session : stopped) send_signal(session, SIGKILL);
  }
  SshNode(const SshNode&) = delete;
  SshNode& operator=(const SshNode&) = delete;

  [[nodiscard]] std::string line(const fs::path& folder) const {
    return fmt::format("  - {{name: {}, address: {}, port: {}, identity: {}, devices: 2}}\n", name,
                       address, sshd.port(), (folder / name / "sshd" / "user_key").string());
  }
  /// Nobody gets there any more, and those who are there are not told.
  void lose() {
    for (const pid_t pid : descendants_of(sshd.pid()))
      if (read_file_or_empty("/proc/" + std::to_string(pid) + "/comm").starts_with("sshd")) {
        send_signal(pid, SIGSTOP);
        stopped.push_back(pid);
      }
    send_signal(sshd.pid(), SIGKILL);
  }

  std::string name;
  std::string address;
  SshDaemon sshd;
  std::vector<pid_t> stopped{};

 private:
  static const fs::path& made(const fs::path& folder) {
    fs::create_directories(folder);
    return folder;
  }
};

class LostNodes : public PlatformTest {
 protected:
  void SetUp() override {
    if (!first_.sshd.missing().empty()) GTEST_SKIP() << first_.sshd.missing();
    const fs::path settings = folder_ / "n1" / "sshd";
    std::ofstream(settings / "known_hosts", std::ios::app)
        << read_file(folder_ / "n2" / "sshd" / "known_hosts");
    write("nodes.yaml",
          "nodes:\n" + first_.line(folder_) + second_.line(folder_) +
              ssh_settings(settings, first_.sshd.port(), folder_ / "cache", "connect_timeout: 5s"));
    PlatformTest::SetUp();
    ASSERT_TRUE(eventually(
        [&] {
          const Json nodes = parse_json_or_null(assay({"nodes", "--format", "json"}).out);
          int reached = 0;
          for (const Json& node : list_at(nodes, "nodes"))
            reached += node.value("lost", true) ? 0 : 1;
          return reached == 2;
        },
        std::chrono::seconds(60)));
  }
  void TearDown() override {
    if (!IsSkipped()) stop_server();
    PlatformTest::TearDown();
  }
  [[nodiscard]] std::vector<std::string> server_options() const override {
    return {"--nodes", (folder_ / "nodes.yaml").string()};
  }
  [[nodiscard]] SshNode& node_of(long id) {
    const Json shown = job(id)["life"];
    const Json& placement = list_at(shown, "placement");
    return !placement.empty() && text_at(placement[0], "node") == "n2" ? second_ : first_;
  }

  SshNode first_{folder_ / "n1", 1};
  SshNode second_{folder_ / "n2", 2};
};

// With all of its probes still to come, the node gets one job, and no second one.
TEST_F(LostNodes, AJobIsTriedAgainWhereThereIsANode) {
  const long before = submit({"--command", "true"});
  ASSERT_TRUE(becomes(before, "finished"));
  node_of(before).lose();
  const long id = submit({"--command", "true", "--retries", "1"});
  EXPECT_TRUE(becomes(id, "finished")) << job(id).dump(1);
  EXPECT_EQ(integer_at(job(id)["life"], "attempt", 0), 2)
      << "the first one was placed where the last was";
}

// One decision puts all of them there before anybody knows that the node is dead.
TEST_F(LostNodes, NoJobIsLostThatWasPlacedOnADeadNodeTogetherWithOthers) {
  first_.lose();
  std::vector<long> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(submit({"--command", "true"}));
  long attempts = 0;
  for (const long id : ids) {
    EXPECT_TRUE(becomes(id, "finished")) << job(id).dump(1);
    const Json life = job(id)["life"];
    EXPECT_EQ(integer_at(life, "restarts", -1), 0);
    attempts += static_cast<long>(integer_at(life, "attempt", 0));
  }
  EXPECT_GT(attempts, 4) << "none of them was placed on the dead node";
}

TEST_F(LostNodes, NoJobRunsTwiceAtATime) {
  const fs::path said = folder_ / "said";
  const long id = submit({"--retries", "1", "--command",
                          fmt::format("while true; do "
                                      "echo $ASSAY_RESTART_COUNT $(date +%s%N) >> {}; "
                                      "[ $ASSAY_RESTART_COUNT = 0 ] || exit 0; sleep 0.1; done",
                                      said.string())});
  ASSERT_TRUE(
      eventually([&] { return !read_file_or_empty(said).empty(); }, std::chrono::seconds(60)));
  node_of(id).lose();
  ASSERT_TRUE(eventually([&] { return state(id) == "finished"; }, std::chrono::seconds(200)))
      << job(id).dump(1);
  std::istringstream lines(read_file(said));
  std::int64_t last_of_first = 0;
  std::int64_t second = 0;
  int attempt = 0;
  for (std::int64_t at = 0; lines >> attempt >> at;) (attempt == 0 ? last_of_first : second) = at;
  EXPECT_GT(second, last_of_first);
}

// The lines that came while it ran are replaced by those of the evidence, in another order.
TEST_F(LostNodes, WhoFollowsAJobOfTwoNodesGetsEveryLineOnce) {
  constexpr int kTicks = 12;
  const CommandResult result = assay(
      {"submit", "--no-code", "--yes", "--nodes", "2", "--procs", "1", "--follow", "--command",
       fmt::format("for i in $(seq {}); do echo tick $i of $RANK; sleep 0.4; done", kTicks)},
      std::chrono::seconds(150));
  EXPECT_EQ(result.status.code, 0) << result.err;
  const Json answer = parse_json_or_null(assay({"jobs", "--all", "--format", "json"}).out);
  ASSERT_FALSE(list_at(answer, "jobs").empty());
  const auto id = std::to_string(integer_at(list_at(answer, "jobs")[0], "id", 0));
  const CommandResult afterwards = assay({"job", id, "--logs", "-f"});
  for (int rank = 0; rank < 2; ++rank) {
    std::string expected;
    for (int i = 1; i <= kTicks; ++i) expected += fmt::format("[{0}] tick {1} of {0}\n", rank, i);
    for (const std::string& out : {result.out, afterwards.out}) {
      std::string got;
      std::istringstream lines(out);
      for (std::string line; std::getline(lines, line);)
        if (line.starts_with(fmt::format("[{}] tick", rank))) got += line + "\n";
      EXPECT_EQ(got, expected);
    }
  }
}

// Both are this machine, with one /tmp.
TEST_F(LostNodes, AJobWithCodeRunsOnNodesThatShareTmp) {
  fs::create_directories(folder_ / "code");
  write("code/hello.sh", "echo $RANK is in $PWD; echo $RANK > own; sleep 1; echo own: $(cat own)");
  const CommandResult result =
      assay({"submit", "--yes", "--code", (folder_ / "code").string(), "--nodes", "2", "--procs",
             "1", "--follow", "--command", "sh hello.sh"},
            std::chrono::seconds(150));
  EXPECT_EQ(result.status.code, 0) << result.out << result.err;
  for (const int rank : {0, 1}) {
    const std::string mark = fmt::format("[{0}] {0} is in ", rank);
    const auto at = result.out.find(mark);
    ASSERT_NE(at, std::string::npos) << result.out;
    const std::string folder =
        result.out.substr(at + mark.size(), result.out.find('\n', at) - at - mark.size());
    EXPECT_TRUE(folder.ends_with(fmt::format("-n{}", rank + 1))) << folder;
    EXPECT_THAT(result.out, ::testing::HasSubstr(fmt::format("[{0}] own: {0}\n", rank)));
    EXPECT_FALSE(fs::exists(folder)) << "it goes with the job";
  }
}

TEST_F(LostNodes, APlanDoesNotSayHowTheServerReachesItsNodes) {
  const CommandResult plan =
      assay({"submit", "--no-code", "--dry-run", "--nodes", "2", "--command", "true"});
  EXPECT_EQ(plan.status.code, 0) << plan.err;
  EXPECT_THAT(plan.out, ::testing::HasSubstr("n2"));
  EXPECT_THAT(plan.out, ::testing::Not(::testing::HasSubstr("user_key")));
  EXPECT_THAT(plan.out, ::testing::Not(::testing::HasSubstr("known_hosts")));
}

TEST_F(LostNodes, WhoFollowsTheLogOfAJobThatWaitsGetsItAll) {
  const long first = submit({"--nodes", "2", "--command", "sleep 5"});
  const long second = submit({"--nodes", "2", "--procs", "1", "--command", "echo here is $RANK"});
  ASSERT_NE(first, second);
  const CommandResult log =
      assay({"job", std::to_string(second), "--logs", "-f"}, std::chrono::seconds(150));
  EXPECT_EQ(log.status.code, 0) << log.err;
  EXPECT_THAT(log.out, ::testing::AllOf(::testing::HasSubstr("[0] here is 0\n"),
                                        ::testing::HasSubstr("[1] here is 1\n")));
}

}  // namespace
}  // namespace assay::e2e
