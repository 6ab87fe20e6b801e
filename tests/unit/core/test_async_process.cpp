#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "core/async_process.h"
#include "core/process_tree.h"
#include "core/run_async.h"
#include "error_of.h"
#include "eventually.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;

bool is_gone(pid_t pid) {
  return process_state(pid) == '\0' || process_state(pid) == 'Z';
}

SpawnOptions script(const std::string& text) {
  return {.argv = {"sh", "-c", text}};
}

class Async : public ::testing::Test {
 protected:
  CommandResult run(const std::string& text, RunLimits limits = {}, std::string input = {},
                    std::function<void(std::string_view)> on_output = {}) {
    auto result = asio::co_spawn(
        loop_, run_async(script(text), limits, std::move(input), std::move(on_output)),
        asio::use_future);
    loop_.restart();
    loop_.run_for(20s);
    return result.get();
  }

  asio::io_context loop_{1};
};

TEST_F(Async, GivesOutputErrorsAndExitCode) {
  const CommandResult result = run("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.status.code, 3);
  EXPECT_FALSE(result.timed_out);
}

TEST_F(Async, WritesTheInputAndClosesIt) {
  const std::string input(300'000, 'x');
  EXPECT_EQ(run("wc -c", {}, input).out, "300000\n");
  EXPECT_EQ(run("wc -c").out, "0\n");
}

TEST_F(Async, HandsOutTheOutputAsItComes) {
  std::size_t bytes = 0;
  const auto count = [&](std::string_view piece) { bytes += piece.size(); };
  const CommandResult result = run("sleep 60 & head -c 3000000 /dev/zero", {}, {}, count);
  EXPECT_EQ(bytes, 3'000'000u);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.ok());
}

TEST_F(Async, AnOutputThatIsRefusedEndsTheProcess) {
  pid_t pid = 0;
  const auto refuse = [&](std::string_view piece) {
    pid = std::stoi(std::string(piece));
    throw Error(ErrorKind::config, "not understood");
  };
  EXPECT_EQ(testing::error_of([&] { return run("echo $$; exec sleep 60", {}, {}, refuse).out; }),
            "not understood");
  EXPECT_TRUE(eventually([&] { return is_gone(pid); }));
}

TEST_F(Async, IsBoundedInTotalThoughOutputKeepsComing) {
  const std::int64_t before = mono_now_ns();
  const CommandResult result = run("while :; do echo x; sleep 0.1; done", {.total = 500ms});
  EXPECT_TRUE(result.timed_out);
  EXPECT_THAT(result.out, HasSubstr("x\n"));
  EXPECT_LT(mono_now_ns() - before, 3'000'000'000);
}

TEST_F(Async, SilenceEndsItOnlyWhenNothingComes) {
  EXPECT_FALSE(run("for i in 1 2 3 4 5 6; do echo x; sleep 0.1; done", {.silence = 2s}).timed_out);
  EXPECT_TRUE(run("echo x; sleep 60", {.silence = 200ms}).timed_out);
}

TEST_F(Async, EndsWithItsProgramThoughAGrandchildHoldsThePipe) {
  const std::int64_t before = mono_now_ns();
  const CommandResult result = run("sleep 60 & echo $!; exit 4");
  EXPECT_EQ(result.status.code, 4);
  EXPECT_LT(mono_now_ns() - before, 5'000'000'000);
  EXPECT_TRUE(eventually([&] { return is_gone(std::stoi(result.out)); }));
}

TEST_F(Async, KeepsTheBeginningOfTheOutputAndTheEndOfTheErrors) {
  const CommandResult result =
      run("seq 1 1000; seq 1 1000 >&2", {.max_output = 4, .max_errors = 5});
  EXPECT_EQ(result.out, "1\n2\n");
  EXPECT_EQ(result.err, "1000\n");
}

TEST_F(Async, AProgramThatDoesNotExistIsNamed) {
  auto result =
      asio::co_spawn(loop_, run_async({.argv = {"/no/such/program"}}, {}), asio::use_future);
  loop_.run();
  EXPECT_EQ(testing::error_of([&] { return result.get(); }),
            "cannot execute '/no/such/program': No such file or directory");
}

TEST_F(Async, AProcessThatWasLeftIsCollectedWithoutCallbacks) {
  bool called = false;
  const auto process =
      AsyncProcess::start(loop_.get_executor(), script("echo x; sleep 60"), {},
                          {.on_output = [&](std::string_view) { called = true; },
                           .on_end = [&](const CommandResult&) { called = true; }});
  process->discard();
  loop_.run_for(10s);
  EXPECT_TRUE(process->ended());
  EXPECT_EQ(process_state(process->pid()), '\0');
  EXPECT_FALSE(called);
}

TEST_F(Async, AskedToEndItEndsWithItsOwnStatus) {
  std::optional<CommandResult> ended;
  const auto process = AsyncProcess::start(
      loop_.get_executor(),
      script("trap 'echo bye; exit 9' TERM; echo ready; read x; sleep 60 & wait"), {},
      {.on_end = [&](CommandResult result) { ended = std::move(result); }});
  loop_.run_for(300ms);
  process->terminate();
  loop_.restart();
  loop_.run_for(10s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status.code, 9);
  EXPECT_EQ(ended->out, "ready\nbye\n");
}

TEST_F(Async, ALoopThatEndsEarlyLeavesNoProcess) {
  pid_t pid = 0;
  {
    asio::io_context loop(1);
    const auto keep = [&](std::string_view piece) { pid = std::stoi(std::string(piece)); };
    asio::co_spawn(loop, run_async(script("echo $$; exec sleep 60"), {}, {}, keep),
                   [](const std::exception_ptr&, const CommandResult&) {});
    while (pid == 0) loop.run_one();
  }
  EXPECT_EQ(process_state(pid), '\0');
}

TEST_F(Async, TwoHundredRunAtOnce) {
  int ended = 0;
  for (int i = 0; i < 200; ++i)
    asio::co_spawn(loop_, run_async(script("echo " + std::to_string(i)), {.total = 30s}),
                   [&, i](const std::exception_ptr& error, const CommandResult& result) {
                     EXPECT_FALSE(error);
                     EXPECT_EQ(result.out, std::to_string(i) + "\n");
                     EXPECT_TRUE(result.ok());
                     ++ended;
                   });
  loop_.run_for(40s);
  EXPECT_EQ(ended, 200);
}

}  // namespace
}  // namespace assay
