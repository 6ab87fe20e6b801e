#include <chrono>
#include <fstream>
#include <string>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/agents/channel.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

using ::testing::StartsWith;
using namespace std::chrono_literals;

class ChannelTest : public ::testing::Test {
 protected:
  std::shared_ptr<Channel> open(const std::string& script, bool ask_to_end = false) {
    ChannelCommand command{{"sh", "-c", script}, {0}, "test", {}, ask_to_end};
    Channel::Handlers handlers{[](int, const Json&) {},
                               [this](const std::string& reason) { reason_ = reason; }};
    return Channel::open(loop_, command, std::move(handlers));
  }

  // Counts while the loop turns; ends with it.
  void tick() {
    ticker_.expires_after(1ms);
    ticker_.async_wait([this](const asio::error_code& ec) {
      if (ec) return;
      ++ticks_;
      tick();
    });
  }

  // Until the command is gone; then the loop has nothing left to do.
  void kill(const std::shared_ptr<Channel>& channel) {
    asio::co_spawn(loop_, channel->kill(), [this, channel](const std::exception_ptr&) {
      gone_ = true;
      ticker_.cancel();
      loop_.stop();
    });
    loop_.run_for(30s);
  }

  [[nodiscard]] std::string file(const char* name) const {
    return (folder_.path() / name).string();
  }
  void wait_for(const char* name) {
    while (!std::filesystem::exists(file(name))) loop_.run_for(5ms);
  }

  assay::testing::TemporaryFolder folder_;
  asio::io_context loop_;
  asio::steady_timer ticker_{loop_};
  int ticks_ = 0;
  bool gone_ = false;
  std::string reason_;
};

TEST_F(ChannelTest, ACommandThatIsAskedToEndGivesBackWhatItHolds) {
  const auto channel = open("trap 'touch " + file("given") + "; exit 0' TERM; touch " + file("up") +
                                "; while :; do sleep 0.05; done",
                            /*ask_to_end=*/true);
  wait_for("up");
  kill(channel);
  EXPECT_TRUE(gone_);
  EXPECT_TRUE(std::filesystem::exists(file("given")));
}

TEST_F(ChannelTest, TheLoopGoesOnWhileACommandTakesItsTimeToEnd) {
  const auto channel = open("trap 'until [ -e " + file("go") + " ]; do sleep 0.05; done; exit 0' " +
                                "TERM; touch " + file("up") + "; while :; do sleep 0.05; done",
                            true);
  wait_for("up");
  tick();
  asio::steady_timer later(loop_, 300ms);
  later.async_wait([this](const asio::error_code&) { (void)folder_.write("go", ""); });
  kill(channel);
  EXPECT_TRUE(gone_);
  EXPECT_TRUE(std::filesystem::exists(file("go"))) << "the loop did not turn";
  EXPECT_GT(ticks_, 10);
}

TEST_F(ChannelTest, ACommandThatDoesNotObeyIsKilled) {
  const auto channel =
      open("trap '' TERM; touch " + file("up") + "; while :; do sleep 0.05; done", true);
  wait_for("up");
  tick();
  kill(channel);
  EXPECT_TRUE(gone_);
  EXPECT_GT(ticks_, 10);
}

TEST_F(ChannelTest, TheLoopGoesOnWhileACommandWithoutOutputEnds) {
  const auto channel =
      open("exec >&-; until [ -e " + file("go") + " ]; do sleep 0.01; done; exit 7");
  // The file comes from the loop: one that waited for the command would wait in vain.
  asio::steady_timer later(loop_, 20ms);
  later.async_wait([this](const asio::error_code&) { (void)folder_.write("go", ""); });
  loop_.run_for(30s);
  EXPECT_FALSE(channel->is_open());
  // On a machine that is slow enough it is killed before.
  EXPECT_THAT(reason_, ::testing::AnyOf(StartsWith("ended with"), StartsWith("its connection")));
}

TEST_F(ChannelTest, SaysHowItsCommandEndedAndWhatItWroteLast) {
  const auto channel = open("echo cannot >&2; exit 7");
  loop_.run_for(30s);
  EXPECT_FALSE(channel->is_open());
  EXPECT_THAT(reason_, ::testing::AllOf(StartsWith("ended with"), ::testing::HasSubstr("7"),
                                        ::testing::HasSubstr(": cannot")));
}

TEST_F(ChannelTest, ACommandEndsWithTheLoop) {
  {
    asio::io_context loop;
    ChannelCommand command{{"sh", "-c",
                            "trap 'touch " + file("given") + "; exit 0' TERM; touch " + file("up") +
                                "; while :; do sleep 0.05; done"},
                           {0},
                           "test",
                           {},
                           true};
    const auto channel =
        Channel::open(loop, command, {[](int, const Json&) {}, [](const auto&) {}});
    while (!std::filesystem::exists(file("up"))) loop.run_for(5ms);
    asio::co_spawn(loop, channel->kill(), [channel](const std::exception_ptr&) {});
  }
  EXPECT_TRUE(std::filesystem::exists(file("given")));
}

TEST_F(ChannelTest, SendsTheBundleFromWhereTheOtherSideHasIt) {
  folder_.write("bundle", "0123456789");
  ChannelCommand command{
      {"sh", "-c", "echo ASSAY-SEND-BUNDLE 4; head -c 6 > " + file("got") + "; exec cat"},
      {0},
      "test",
      file("bundle")};
  const auto channel = Channel::open(loop_, command, {[](int, const Json&) {}, [](const auto&) {}});
  while (channel->upload().sent < 10) loop_.run_for(5ms);
  EXPECT_EQ(channel->upload().size, 10u);
  while (!std::filesystem::exists(file("got")) || std::filesystem::file_size(file("got")) < 6)
    loop_.run_for(5ms);
  kill(channel);
  std::ifstream got(file("got"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(got), {}), "456789");
}

}  // namespace
}  // namespace assay::launch
