#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/parallel.h"
#include "error_of.h"

namespace assay {
namespace {

TEST(RunParallel, DoesEveryJobOnce) {
  std::vector<std::atomic<int>> done(1000);
  run_parallel(done.size(), 4, {}, [&](std::size_t i, const std::stop_token&) { ++done[i]; });
  EXPECT_TRUE(std::ranges::all_of(done, [](const auto& times) { return times == 1; }));
}

TEST(RunParallel, UsesNoMoreThreadsThanAllowed) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  run_parallel(100, 3, {}, [&](std::size_t, const std::stop_token&) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_LE(threads.size(), 3u);
}

TEST(RunParallel, WithoutJobsDoesNothing) {
  run_parallel(0, 0, {}, [](std::size_t, const std::stop_token&) { FAIL(); });
}

TEST(RunParallel, TheFirstExceptionStopsTheOthersAndIsThrown) {
  std::atomic<int> begun = 0;
  const auto job = [&](std::size_t i, const std::stop_token& stop) {
    ++begun;
    if (i == 0) throw Error(ErrorKind::config, "no");
    while (!stop.stop_requested()) std::this_thread::yield();
  };
  EXPECT_EQ(testing::error_of([&] { return run_parallel(1000, 2, {}, job), 0; }), "no");
  EXPECT_LE(begun, 3);
}

TEST(RunParallel, AStopIsAnError) {
  std::stop_source stop;
  int done = 0;
  const auto job = [&](std::size_t, const std::stop_token&) {
    ++done;
    stop.request_stop();
  };
  EXPECT_EQ(testing::error_of([&] { return run_parallel(9, 1, stop.get_token(), job), 0; }),
            "the work was cancelled");
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace assay
