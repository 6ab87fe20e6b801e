// Signals belong to the whole process: every test has one of its own.
#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "core/time.h"
#include "workload/runtime.h"

namespace assay::workload {
namespace {

using namespace std::chrono_literals;

bool blocked_here(int signal) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

// Ends with 0 if `holds`, so that a test's parent sees it.
[[noreturn]] void end_if(bool holds) {
  std::_Exit(holds ? 0 : 1);
}

class StopSignals : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(StopSignals, AskForAnEnd) {
  EXPECT_EXIT(
      {
        handle_stop_signals();
        ::kill(::getpid(), SIGTERM);
        while (stop_signal() == 0) std::this_thread::sleep_for(1ms);
        end_if(stop_signal() == SIGTERM);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StopSignals, DoNotReachThreadsThatCompute) {
  EXPECT_EXIT(
      {
        handle_stop_signals();
        bool there = false;
        std::thread([&] { there = blocked_here(SIGTERM) && blocked_here(SIGINT); }).join();
        end_if(there && blocked_here(SIGTERM) && blocked_here(SIGINT));
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StopSignals, EndASleep) {
  EXPECT_EXIT(
      {
        handle_stop_signals();
        std::thread([] {
          std::this_thread::sleep_for(50ms);
          ::kill(::getpid(), SIGINT);
        }).detach();
        sleep_until(mono_now_ns() + Nanoseconds(1h).count());
        end_if(stop_signal() == SIGINT);
      },
      testing::ExitedWithCode(0), "");
}

// The signal after a second ends it, so it never gets to the end of its sleep.
TEST_F(StopSignals, ASecondOneEndsAtOnceWhereThatIsWanted) {
  EXPECT_EXIT(
      {
        handle_stop_signals();
        end_at_second_stop_signal();
        ::kill(::getpid(), SIGTERM);
        while (stop_signal() == 0) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(1100ms);
        ::kill(::getpid(), SIGINT);
        std::this_thread::sleep_for(1h);
      },
      testing::ExitedWithCode(130), "");
}

TEST_F(StopSignals, ThatAnotherRankHadDoNotMakeTheOwnOneTheSecond) {
  EXPECT_EXIT(
      {
        handle_stop_signals();
        end_at_second_stop_signal();
        ask_to_stop(SIGTERM);
        std::this_thread::sleep_for(1100ms);
        ::kill(::getpid(), SIGINT);
        while (stop_signal() != SIGINT) std::this_thread::sleep_for(1ms);
        end_if(true);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StopSignals, ASleepThatNobodyEndsLastsToItsEnd) {
  const std::int64_t until = mono_now_ns() + Nanoseconds(30ms).count();
  sleep_until(until);
  EXPECT_GE(mono_now_ns(), until);
}

}  // namespace
}  // namespace assay::workload
