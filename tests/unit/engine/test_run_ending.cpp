#include <gtest/gtest.h>

#include "engine/run_ending.h"
#include "temporary_folder.h"

namespace assay::engine {
namespace {

using jobs::Ending;
using jobs::EventKind;
using jobs::Verdict;

class RunEndingTest : public ::testing::Test {
 protected:
  void journal(const std::string& lines) const {
    temporary_.write("run/run1/plan.json", "{}");
    temporary_.write("run/run1/journal.jsonl", lines);
  }
  [[nodiscard]] jobs::Event ending(bool stopped = false) const {
    return read_ending(ExecutionFolder(temporary_.path()), stopped).event;
  }
  testing::TemporaryFolder temporary_;
};

TEST_F(RunEndingTest, OfARunThatCompletedIsItsVerdict) {
  journal("{\"event\":\"run_start\"}\n{\"event\":\"run_end\",\"status\":\"completed\"}\n");
  temporary_.write("run/run1/result.json", "{\"validity\": \"INVALID\"}");
  const jobs::Event event = ending();
  EXPECT_EQ(event.kind, EventKind::exited);
  EXPECT_EQ(event.exit.ending, Ending::completed);
  EXPECT_EQ(event.exit.code, 0);
  EXPECT_EQ(event.exit.verdict, Verdict::invalid);
}

TEST_F(RunEndingTest, OfAFailureIsTheFirstFailedRanksCode) {
  journal(
      "{\"event\":\"run_start\"}\n"
      "{\"event\":\"rank_exit\",\"rank\":1,\"code\":0,\"ended_by\":\"itself\"}\n"
      "{\"event\":\"rank_exit\",\"rank\":2,\"code\":77,\"ended_by\":\"itself\"}\n"
      "{\"event\":\"rank_exit\",\"rank\":0,\"signal\":15,\"ended_by\":\"stop\"}\n"
      "{\"event\":\"round_end\",\"status\":\"failed\",\"reason\":\"rank 2 ended with exit 77\"}\n"
      "{\"event\":\"run_end\",\"status\":\"failed\"}\n");
  const jobs::Event event = ending();
  EXPECT_EQ(event.exit.ending, Ending::failed);
  EXPECT_EQ(event.exit.code, 77);
  EXPECT_EQ(event.detail, "rank 2 ended with exit 77");
}

TEST_F(RunEndingTest, OfARankThatASignalKilledIsAsAShellSaysIt) {
  journal(
      "{\"event\":\"rank_exit\",\"signal\":11,\"ended_by\":\"itself\"}\n"
      "{\"event\":\"run_end\",\"status\":\"failed\"}\n");
  EXPECT_EQ(ending().exit.code, 139);
}

TEST_F(RunEndingTest, OfAControllerThatWasKilledIsAnErrorOfTheEngine) {
  journal("{\"event\":\"run_start\"}\n{\"event\":\"round_start\"");
  const jobs::Event event = ending();
  EXPECT_EQ(event.kind, EventKind::engine_error);
  EXPECT_EQ(event.detail, "its controller was killed, or the machine was restarted");
}

TEST_F(RunEndingTest, OfAControllerThatWasStoppedByForceIsAnInterruption) {
  journal("{\"event\":\"run_start\"}\n");
  EXPECT_EQ(ending(true).exit.ending, Ending::interrupted);
}

TEST_F(RunEndingTest, SaysWhetherAnAgentWasLost) {
  journal(
      "{\"event\":\"round_end\",\"status\":\"lost\",\"reason\":\"the agent on node2 was lost\"}\n"
      "{\"event\":\"run_end\",\"status\":\"failed\"}\n");
  const ExecutionFolder folder(temporary_.path());
  EXPECT_EQ(read_ending(folder, false).lost, "the agent on node2 was lost");
  EXPECT_EQ(read_ending(folder, true).lost, "");
}

// Its node was lost, and is swept before its logs are fetched: where those came, nothing runs
// there.
TEST_F(RunEndingTest, SaysWhatMayStillRunOnANodeThatNobodyReaches) {
  const std::string lost =
      "{\"event\":\"round_end\",\"status\":\"lost\",\"reason\":\"the agent on n2 was lost\"}\n"
      "{\"event\":\"run_end\",\"status\":\"failed\"}\n";
  const std::string cut =
      "{\"event\":\"gap\",\"node\":1,\"host\":\"n2\",\"source\":\"logs\",\"seconds\":0}\n";
  journal("{\"event\":\"round_start\"}\n" + cut + lost);
  const ExecutionFolder folder(temporary_.path());
  EXPECT_EQ(read_ending(folder, false).unreached, (std::set<std::string>{"n2"}));
  // An agent behind a cut ends after 30 s, and its ranks have 2 s more.
  EXPECT_GE(ending().may_run_on, std::chrono::seconds(32));
  EXPECT_GE(ending(true).may_run_on, std::chrono::seconds(32)) << "it was paused behind the cut";
  journal("{\"event\":\"round_start\"}\n" + cut + "{\"event\":\"round_start\"}\n" + lost);
  EXPECT_EQ(ending().may_run_on.count(), 0) << "of an earlier round, long ago";
}

TEST_F(RunEndingTest, ARunThatBeganAgainHasNotEnded) {
  journal("{\"event\":\"run_end\",\"status\":\"completed\"}\n{\"event\":\"run_resume\"}\n");
  EXPECT_EQ(ending().kind, EventKind::engine_error);
}

TEST_F(RunEndingTest, ASuiteThatCannotBePlannedIsTheJobsOwnFault) {
  ExecutionFolder(temporary_.path())
      .write_end(end_of(Error(ErrorKind::config, "unknown key 'casse'", "suite.yaml:3:1")));
  const jobs::Event event = ending();
  EXPECT_EQ(event.kind, EventKind::exited);
  EXPECT_EQ(event.exit.ending, Ending::failed);
  EXPECT_EQ(event.exit.code, 0);
  EXPECT_NE(event.detail.find("unknown key 'casse'"), std::string::npos);
}

TEST_F(RunEndingTest, NodesThatCannotBeUsedAreTheEnginesError) {
  journal("{\"event\":\"run_start\"}\n");
  ExecutionFolder(temporary_.path())
      .write_end(end_of(Error(ErrorKind::launch, "ssh cannot reach it", "host node2")));
  EXPECT_EQ(ending().kind, EventKind::engine_error);
}

TEST_F(RunEndingTest, OfNothingAtAllIsAnErrorOfTheEngine) {
  EXPECT_EQ(ending().kind, EventKind::engine_error);
}

TEST_F(RunEndingTest, SaysWhetherAnythingOfTheJobBegan) {
  const ExecutionFolder folder(temporary_.path());
  folder.write_end({.exit_code = 4, .kind = "launch", .error = "n1: connection refused"});
  EXPECT_TRUE(read_ending(folder, false).never_began) << "not even a run was made";
  journal("{\"event\":\"run_start\"}\n{\"event\":\"agent_start\"}\n");
  EXPECT_TRUE(read_ending(folder, false).never_began);
  journal("{\"event\":\"run_start\"}\n{\"event\":\"round_start\"}\n");
  EXPECT_FALSE(read_ending(folder, false).never_began);
  journal("{\"event\":\"run_start\"}\n");
  folder.write_end({.exit_code = 3, .kind = "environment", .error = "the disk is full"});
  EXPECT_FALSE(read_ending(folder, false).never_began);
}

}  // namespace
}  // namespace assay::engine
