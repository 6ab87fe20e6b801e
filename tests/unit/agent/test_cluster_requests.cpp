// What agents do for the cluster as a whole: connections, idle devices, page caches.

#include <fstream>
#include <limits>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "agent/connectivity.h"
#include "agent/device_idle.h"
#include "agent/device_states.h"
#include "agent/page_caches.h"
#include "core/files.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Reach, ConnectsToSomebodyWhoListens) {
  const Listening there = listen_on(0);
  ASSERT_EQ(there.problem, "");
  ASSERT_GT(there.port, 0);
  const auto results = connect_to({{3, "127.0.0.1", there.port}}, 2s);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].node, 3);
  EXPECT_EQ(results[0].problem, "");
}

TEST(Reach, SaysWhenNobodyListens) {
  int port = 0;
  {
    const Listening gone = listen_on(0);
    port = gone.port;
  }
  EXPECT_EQ(connect_to({{1, "127.0.0.1", port}}, 2s)[0].problem, "refused");
}

TEST(Reach, RefusesAPortThatIsTaken) {
  const Listening first = listen_on(0);
  EXPECT_THAT(listen_on(first.port).problem, HasSubstr("in use"));
}

TEST(Reach, SaysThatANameIsNoAddress) {
  EXPECT_THAT(connect_to({{1, "node7", 1}}, 1s)[0].problem, HasSubstr("not an address"));
}

TEST(Reach, GivesUpAtTheLimitForAllPeersTogether) {
  // A queue that is full drops further connections without a word, as a firewall does.
  const UniqueFd full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(full.get(), generic, length), 0);
  ASSERT_EQ(::listen(full.get(), 0), 0);
  ASSERT_EQ(::getsockname(full.get(), generic, &length), 0);
  const std::vector<Peer> peers(8, {1, "127.0.0.1", ntohs(address.sin_port)});
  const auto start = std::chrono::steady_clock::now();
  const auto results = connect_to(peers, 300ms);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
  EXPECT_EQ(results.front().problem, "");
  EXPECT_EQ(results.back().problem, "timed out");
}

telemetry::DeviceReading reading(int index, double util, double used, double total) {
  telemetry::DeviceReading out;
  out.index = index;
  out.values[telemetry::Column::util] = util;
  out.values[telemetry::Column::mem_used_bytes] = used;
  out.values[telemetry::Column::mem_total_bytes] = total;
  return out;
}

TEST(IdleDevices, PassWithWhatADriverKeeps) {
  const probe::Check check = judge_idle({reading(0, 0, 3e9, 64e9), reading(1, 0.02, 0, 64e9)});
  EXPECT_EQ(check.level, probe::Level::pass) << check.seen;
  EXPECT_EQ(check.seen, "2 devices, all idle");
}

TEST(IdleDevices, AreJudgedByTheNewestSample) {
  EXPECT_EQ(judge_idle({reading(0, 0.9, 0, 1), reading(0, 0, 0, 1)}).level, probe::Level::pass);
}

TEST(IdleDevices, AreNamedWhenTheyAreNot) {
  const probe::Check check = judge_idle({reading(0, 0, 0, 1), reading(5, 0.5, 0, 1)});
  EXPECT_EQ(check.level, probe::Level::warn);
  EXPECT_EQ(check.seen, "device 5: 50 % busy");
}

TEST(IdleDevices, AreNotAssumedWhereNothingIsKnown) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(judge_idle({reading(0, unknown, unknown, 1)}).level, probe::Level::warn);
  EXPECT_EQ(judge_idle({}).level, probe::Level::warn);
  EXPECT_THAT(check_idle({}, 1s).seen, HasSubstr("cannot tell"));
}

TEST(StateOfDevices, IsWhatTheCommandPrints) {
  const probe::DeviceStates states = read_device_states(
      {"/bin/sh", "-c", R"(echo '{"driver": "1", "devices": [{"index": 3}]}')"}, 10s);
  EXPECT_EQ(states.problem, "");
  EXPECT_EQ(states.devices.at(0).index, 3);
}

TEST(StateOfDevices, HasAProblemWhateverGoesWrong) {
  const auto problem = [](std::vector<std::string> command, Nanoseconds limit = 10s) {
    return read_device_states(command, limit).problem;
  };
  EXPECT_THAT(problem({}), HasSubstr("no command is known"));
  EXPECT_THAT(problem({"no-such-tool", "--state"}), HasSubstr("no-such-tool is not installed"));
  EXPECT_THAT(problem({"/bin/sh", "-c", "echo the driver is not loaded >&2; exit 3"}),
              HasSubstr("exit 3: the driver is not loaded"));
  EXPECT_THAT(problem({"/bin/sleep", "60"}, 200ms), HasSubstr("did not answer within"));
  EXPECT_THAT(problem({"/bin/echo", "hello"}), HasSubstr("the state of the devices"));
  EXPECT_THAT(problem({"/bin/echo", "{nonsense}"}), HasSubstr("nonsense"));
}

class PageCaches : public ::testing::Test {
 protected:
  PageCaches() { fs::create_directories(file().parent_path()); }
  [[nodiscard]] fs::path file() const { return folder_.path() / "proc/sys/vm/drop_caches"; }
  testing::TemporaryFolder folder_;
};

TEST_F(PageCaches, AreDroppedWhereTheFileCanBeWritten) {
  std::ofstream(file()).close();
  const CacheDrop drop = drop_page_caches(folder_.path(), {"false"});
  EXPECT_TRUE(drop.done) << drop.how;
  EXPECT_EQ(read_file(file()), "3\n");
}

TEST_F(PageCaches, AreDroppedByTheFallbackElse) {
  const CacheDrop drop = drop_page_caches(folder_.path(), {"true"});
  EXPECT_TRUE(drop.done);
  EXPECT_EQ(drop.how, "by sudo");
}

TEST_F(PageCaches, AreKeptWithAReasonWhenNeitherWorks) {
  const CacheDrop refused = drop_page_caches(
      folder_.path(), {"/bin/sh", "-c", "echo a password is required >&2; exit 1"});
  EXPECT_FALSE(refused.done);
  EXPECT_THAT(refused.how, HasSubstr("a password is required"));
  EXPECT_THAT(refused.how, HasSubstr("No such file"));
  const CacheDrop none = drop_page_caches(folder_.path(), {"no-such-sudo"});
  EXPECT_FALSE(none.done);
  EXPECT_THAT(none.how, HasSubstr("there is no sudo"));
}

TEST(SudoRule, IsTheDocumentedCommand) {
  EXPECT_THAT(drop_caches_by_sudo(),
              ::testing::ElementsAre("sudo", "-n", "/usr/sbin/sysctl", "-q", "vm.drop_caches=3"));
  EXPECT_THAT(read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/clusters.md"),
              HasSubstr("/usr/sbin/sysctl -q vm.drop_caches=3"));
}

}  // namespace
}  // namespace assay::agent
