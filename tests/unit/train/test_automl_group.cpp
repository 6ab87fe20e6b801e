// Ranks that train a trial together.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "automl/worker_protocol.h"
#include "automl_worker.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "ports.h"
#include "send_signal.h"

namespace assay::train {
namespace {

using ::testing::HasSubstr;

// Two ranks that are one worker; the first one speaks.
class GroupTest : public WorkerTest {
 protected:
  void start_group() {
    for (int rank = 0; rank < 2; ++rank) {
      const std::string number = std::to_string(rank);
      auto process = start_rank({{"RANK", number},
                                 {"LOCAL_RANK", number},
                                 {"WORLD_SIZE", "2"},
                                 {"MASTER_PORT", std::to_string(ports_.first())},
                                 {automl::kDevicesVariable, "2"}},
                                folder_.path() / ("pid" + number));
      (rank == 0 ? worker_ : follower_) = std::move(process);
    }
  }
  testing::ReservedPorts ports_{2};  // the group's store takes the one behind the master's
  std::future<CommandResult> follower_;
};

TEST_F(GroupTest, IsOneWorkerThatTrainsEveryTrialTogether) {
  start_group();
  accept();
  const auto hello = expect<automl::Hello>();
  EXPECT_EQ(hello.rank, 0);
  EXPECT_EQ(hello.device, "cpu and 1 more");
  expect<automl::Ready>();
  const Finished finished = run(trial(7));
  EXPECT_TRUE(finished.done.ok) << finished.done.reason;
  ASSERT_EQ(finished.epochs.size(), 2U);
  EXPECT_EQ(finished.epochs[1].trained, 256) << "all samples, 64 a step";
  EXPECT_EQ(finished.epochs[1].validated, 80);
  EXPECT_NEAR(finished.epochs[1].accuracy * 40, std::round(finished.epochs[1].accuracy * 40), 1e-9);
  EXPECT_THAT(finished.weights, ::testing::StartsWith("assay-weights 1\n"));
  const auto operation = automl::places(small(), automl::Operation::Kind::wider).front();
  Trial child = trial(8, automl::apply(small(), operation));
  child.parent = automl::Parent{7, automl::to_json(small()), {operation}};
  const Finished inherits = run(child);
  EXPECT_TRUE(inherits.done.ok) << inherits.done.reason;
  ASSERT_TRUE(inherits.inherited);
  EXPECT_EQ(inherits.inherited->tensors, inherits.inherited->of);
  const CommandResult first = stop();
  EXPECT_EQ(first.status.code, 0) << first.err;
  const CommandResult second = follower_.get();
  EXPECT_EQ(second.status.code, 0) << second.err;
  // Each logs its own share.
  for (const CommandResult* rank : {&first, &second}) {
    const Json done = last_event(rank->out, "FINISHED")["value"];
    EXPECT_EQ(done["trials"], 2);
    EXPECT_EQ(done["num_trained_samples"], 256);
  }
}

TEST_F(GroupTest, EndsATrialTogetherAndGoesOn) {
  start_group();
  welcome();
  send(endless(1));
  expect<Epoch>();
  send(automl::Drop{1});
  const Finished dropped = finish();
  EXPECT_EQ(dropped.done.reason, "dropped");
  Trial diverges = trial(2);
  diverges.hyper.learning_rate = 1e6;
  diverges.epochs = 20;
  EXPECT_THAT(run(diverges).done.reason, HasSubstr("the loss"));
  EXPECT_TRUE(run(trial(3)).done.ok);
  EXPECT_EQ(stop().status.code, 0);
  EXPECT_EQ(follower_.get().status.code, 0);
}

TEST_F(GroupTest, EndsByNameWhenOneOfThemIsKilled) {
  start_group();
  welcome();
  send(endless(1));
  expect<Epoch>();
  send_signal(std::stoi(read_file(folder_.path() / "pid1")), SIGKILL);
  const CommandResult first = end();
  EXPECT_NE(first.status.code, 0);
  EXPECT_THAT(first.err, HasSubstr("rank 1"));
  (void)follower_.get();
}

}  // namespace
}  // namespace assay::train
