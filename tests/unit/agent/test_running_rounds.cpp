#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/running_rounds.h"
#include "core/files.h"
#include "core/time.h"
#include "eventually.h"

namespace assay::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Runs of this test alone: other tests may run rounds beside it.
std::string run(const std::string& name) {
  return "unit" + std::to_string(::getpid()) + name;
}

std::vector<std::string> ours(const RunningRounds& rounds) {
  std::vector<std::string> out;
  const auto others = rounds.finish(mono_now_ns());
  for (const auto& other : others.value())
    if (other.run.starts_with(run(""))) out.push_back(other.run);
  return out;
}

double seconds_with(const RunningRounds& rounds, const std::string& name) {
  const auto others = rounds.finish(mono_now_ns());
  for (const auto& other : others.value())
    if (other.run == name) return other.seconds;
  return -1;
}

TEST(RunningRounds, OfTwoRunsKnowOfEachOther) {
  asio::io_context loop;
  const RunningRounds first(loop, run("a"));
  EXPECT_THAT(ours(first), IsEmpty());
  const RunningRounds second(loop, run("b"));
  EXPECT_THAT(ours(second), UnorderedElementsAre(run("a")));
  EXPECT_TRUE(testing::eventually([&] {
    loop.poll();
    return ours(first) == std::vector{run("b")};
  }));
}

TEST(RunningRounds, OfOneRunAreNotOthers) {
  asio::io_context loop;
  const RunningRounds first(loop, run("a"));
  const RunningRounds second(loop, run("a"));
  loop.poll();
  EXPECT_THAT(ours(first), IsEmpty());
  EXPECT_THAT(ours(second), IsEmpty());
}

TEST(RunningRounds, StopCountingWhenTheOtherEnds) {
  asio::io_context loop;
  const RunningRounds first(loop, run("a"));
  auto second = std::make_unique<RunningRounds>(loop, run("b"));
  ASSERT_TRUE(testing::eventually([&] {
    loop.poll();
    return !ours(first).empty();
  }));
  second.reset();
  // The clock stands still for it once its end was seen.
  EXPECT_TRUE(testing::eventually([&] {
    loop.poll();
    return seconds_with(first, run("b")) == seconds_with(first, run("b"));
  }));
  EXPECT_THAT(ours(RunningRounds(loop, run("c"))), UnorderedElementsAre(run("a")));
}

TEST(RunningRounds, NameTheUserOfTheOtherEnd) {
  asio::io_context loop;
  const RunningRounds first(loop, run("a"));
  const RunningRounds second(loop, run("b"));
  const auto others = second.finish(mono_now_ns()).value();
  const auto other = std::ranges::find(others, run("a"), &telemetry::MachineUse::OtherRun::run);
  ASSERT_NE(other, others.end());
  EXPECT_NE(other->user, "");
  EXPECT_NE(other->user, "unknown");
}

TEST(RunningRounds, AreNotMovedByConnectionsThatSayNothingOrTooMuch) {
  asio::io_context loop;
  const RunningRounds rounds(loop, run("a"));
  const std::string table = read_file("/proc/net/unix");
  const auto at = table.find("@assay-round/" + run("a") + "/");
  ASSERT_NE(at, std::string::npos);
  const std::string name = table.substr(at + 1, table.find('\n', at) - at - 1);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 200; ++i) {
    UniqueFd stranger(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(stranger.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) break;
    const std::string text(i % 2 == 0 ? 100'000 : 0, 'x');
    (void)!::send(stranger.get(), text.data(), text.size(), MSG_NOSIGNAL);
    strangers.push_back(std::move(stranger));
    loop.poll();
  }
  EXPECT_THAT(ours(rounds), IsEmpty());
}

TEST(SocketTable, TellsRoundsThatListenFromEverythingElse) {
  const std::string head = "0000000000000000: 00000002 00000000 00010000 0001 01 22930 ";
  EXPECT_EQ(round_of_socket(head + "@assay-round/run1/12-ab"), "run1");
  EXPECT_FALSE(round_of_socket(head + "@assay-round/"));
  EXPECT_FALSE(round_of_socket(head + "@assay-round/run1"));
  EXPECT_FALSE(round_of_socket(head + "@assay-round//12"));
  EXPECT_FALSE(round_of_socket(head + "/run/user/assay-round/run1/12"));
  EXPECT_FALSE(round_of_socket(head + "@assay-round/" + std::string(65, 'r') + "/1"));
  EXPECT_FALSE(round_of_socket(
      "0000000000000000: 00000003 00000000 00000000 0001 03 22930 @assay-round/run1/12-ab"));
  EXPECT_FALSE(round_of_socket(""));
}

}  // namespace
}  // namespace assay::agent
