#include <condition_variable>
#include <map>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "engine/execution_watch.h"
#include "engine/sweep_execution.h"
#include "no_descriptors.h"
#include "temporary_folder.h"

namespace assay::engine {
namespace {

using jobs::EventKind;

/// With a program in place of `assay` that is a shell script.
class ExecutionWatchTest : public ::testing::Test {
 protected:
  void watch(const std::string& script, Nanoseconds begin_limit) {
    temporary_.write_program("bin/assay", "#!/bin/sh\n" + script);
    EmbeddedOptions options;
    options.nodes = {{.name = "here", .devices = 4}};
    options.bindir = temporary_.path() / "bin";
    options.begin_limit = begin_limit;
    watch_.emplace(options, [this](const Execution& /*execution*/, const jobs::Event& event) {
      const std::lock_guard guard(mutex_);
      reported_.push_back(event);
      changed_.notify_all();
    });
  }
  [[nodiscard]] Order order() const {
    Order order;
    order.execution = {1, 1};
    order.folder = temporary_.path() / "attempt-1";
    order.submission.name = "train";
    order.submission.command = "true";
    order.placement = {{"here", 1}};
    return order;
  }
  /// Waits for it.
  [[nodiscard]] jobs::Event report() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return !reported_.empty(); }));
    return reported_.empty() ? jobs::Event{} : reported_.front();
  }

  testing::TemporaryFolder temporary_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<jobs::Event> reported_;
  std::optional<ExecutionWatch> watch_;
};

TEST_F(ExecutionWatchTest, AControllerThatDoesNotBeginIsGoneWhenThatIsReported) {
  watch("exec sleep 1000\n", std::chrono::milliseconds(100));
  watch_->start(order());
  const jobs::Event event = report();
  EXPECT_EQ(event.kind, EventKind::engine_error);
  EXPECT_THAT(event.detail, ::testing::HasSubstr("did not begin in time"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_TRUE(watch_->devices_of({1, 1}).empty());
}

TEST_F(ExecutionWatchTest, OneThatIsStoppedBeforeItBeginsIsGoneToo) {
  watch("exec sleep 1000\n", std::chrono::milliseconds(100));
  watch_->start(order());
  watch_->stop({1, 1}, Nanoseconds(0));
  const jobs::Event event = report();
  EXPECT_EQ(event.kind, EventKind::exited);
  EXPECT_EQ(event.exit.ending, jobs::Ending::interrupted);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(ExecutionWatchTest, OneThatEndsAtOnceSaysWhy) {
  watch("echo no library; exit 1\n", std::chrono::seconds(60));
  watch_->start(order());
  const jobs::Event event = report();
  EXPECT_EQ(event.kind, EventKind::engine_error);
  EXPECT_THAT(event.detail, ::testing::HasSubstr("no library"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

// The scheduler and the engine may see nodes differently for a moment: that is no fault of the job.
TEST_F(ExecutionWatchTest, OneForWhichThereAreNoDevicesIsNotPlaced) {
  watch("exec sleep 1000\n", std::chrono::seconds(60));
  Order all = order();
  all.placement = {{"here", 4}};
  watch_->start(all);
  Order one_more = order();
  one_more.execution = {2, 1};
  one_more.folder = temporary_.path() / "attempt-2";
  watch_->start(one_more);
  const jobs::Event event = report();
  EXPECT_EQ(event.kind, EventKind::not_placed);
  EXPECT_THAT(event.detail, ::testing::HasSubstr("not enough devices"));
}

TEST_F(ExecutionWatchTest, OneForWhichThereCanNeverBeDevicesIsAnError) {
  watch("exec sleep 1000\n", std::chrono::seconds(60));
  Order too_large = order();
  too_large.placement = {{"here", 5}};
  watch_->start(too_large);
  const jobs::Event event = report();
  EXPECT_EQ(event.kind, EventKind::engine_error);
  EXPECT_THAT(event.detail, ::testing::HasSubstr("has fewer devices"));
}

// Without descriptors nothing can be seen, which is not the same as nothing being there.
TEST(SweepExecution, IsNotDoneWhereNothingCanBeSeen) {
  const testing::TemporaryFolder temporary;
  const ExecutionFolder folder(temporary.path());
  {
    const testing::NoDescriptors none;
    EXPECT_FALSE(sweep_execution(folder, temporary.path(), Nanoseconds(0), {}));
  }
  EXPECT_TRUE(sweep_execution(folder, temporary.path(), Nanoseconds(0), {}));
}

}  // namespace
}  // namespace assay::engine
