// Trainings with a folder for checkpoints that are asked to end by signals.
#include <filesystem>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/files.h"
#include "program_test.h"

namespace assay::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class StoppingTest : public ProgramTest {
 protected:
  // What a rank wrote before it ended, and its exit code.
  struct Rank {
    CommandResult result;
    int code = -1;
    [[nodiscard]] std::int64_t last_step() const {
      const std::vector<Json> steps = events(result, "STEP_END");
      return steps.empty() ? 0 : steps.back().at("step").get<std::int64_t>();
    }
  };

  [[nodiscard]] fs::path there() const { return folder_.path() / "c"; }
  [[nodiscard]] std::string text(const std::string& more) const {
    return std::string(kImages) +
           "epochs: 0\ndevice: cpu\ndeterministic: true\ncheckpoint: " + there().string() + "\n" +
           more;
  }
  // "": there is none.
  [[nodiscard]] std::string latest() const {
    return std::string(trim(read_file_or_empty(there() / "latest")));
  }

  // Starts so many ranks; when rank 0 has logged an event `sign`, bash runs `signals`, with their
  // processes in the array `pid`. `within` runs before each of them, in a shell of its own.
  std::vector<Rank> stop(int world, const std::string& settings, const std::string& sign,
                         const std::string& signals, const std::string& within = ":") {
    const fs::path logs = folder_.path() / ("logs" + std::to_string(++runs_));
    fs::create_directories(logs);
    const CommandResult all =
        command({"bash", "-c",
                 "export WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$2; cd \"$3\"; sign=$4 "
                 "signals=$5 within=$6; shift 6; for ((i = 0; i < WORLD_SIZE; ++i)); do "
                 "(eval \"$within\"; RANK=$i LOCAL_RANK=$i exec \"$@\" > out$i 2> err$i) & "
                 "pid[i]=$!; done; "
                 "for i in {1..1600}; do grep -qF \"$sign\" out0 && break; sleep 0.05; done; "
                 "eval \"$signals\"; for p in ${pid[@]}; do wait $p; echo $?; done",
                 "bash", std::to_string(world), free_port(), logs.string(), sign, signals, within,
                 std::string(ASSAY_BIN_DIR) + "/assay-train", "resnet20", "--config",
                 config(text(settings))});
    EXPECT_FALSE(all.timed_out);
    std::vector<Rank> ranks(static_cast<std::size_t>(world));
    const std::vector<std::string_view> codes = split(trim(all.out), '\n');
    for (std::size_t i = 0; i < ranks.size() && i < codes.size(); ++i) {
      ranks[i].code = std::stoi(std::string(codes[i]));
      ranks[i].result.out = read_file(logs / ("out" + std::to_string(i)));
      ranks[i].result.err = read_file(logs / ("err" + std::to_string(i)));
    }
    return ranks;
  }

  // A training that resumes waits before its first step for what somebody writes to this pipe.
  void hold() const {
    fs::create_directories(there());
    fs::remove(there() / "latest");
    ASSERT_EQ(::mkfifo((there() / "latest").c_str(), 0600), 0);
  }
  // Signals rank 0, and lets all go on; one write may have reached several.
  [[nodiscard]] std::string let_go(const std::string& latest) const {
    return "kill -TERM ${pid[0]}; sleep 0.2; for p in ${pid[@]}; do timeout 5 bash -c 'echo \"" +
           latest + "\" > " + (there() / "latest").string() + "'; done";
  }

  // All ranks ended after the same step, of which there is a checkpoint.
  void expect_stopped(const std::vector<Rank>& ranks) const {
    for (const Rank& rank : ranks) {
      ASSERT_EQ(rank.code, 143) << rank.result.err;
      ASSERT_GT(rank.last_step(), 0);
      EXPECT_EQ(std::to_string(rank.last_step()), latest()) << rank.result.err;
      EXPECT_EQ(events(rank.result, "PHASE").back().at("value").at("name"), "checkpoint");
      EXPECT_TRUE(events(rank.result, "FINISHED").empty());
    }
    EXPECT_THAT(ranks[0].result.err,
                HasSubstr("stopped by SIGTERM after step " + latest() + "; last checkpoint: step " +
                          latest() + " in " + there().string()));
  }

  // Goes on from there, and has each rank's losses of a training that nobody stopped.
  void expect_the_same_losses(const std::vector<Rank>& stopped, const std::string& settings) {
    const int world = static_cast<int>(stopped.size());
    const auto resumed = train_ranks("resnet20", text(settings + "resume: true\n"), world);
    const fs::path other = folder_.path() / "other";
    std::string undisturbed = text(settings);
    undisturbed.replace(undisturbed.find(there().string()), there().string().size(),
                        other.string());
    const auto whole = train_ranks("resnet20", undisturbed, world);
    for (std::size_t i = 0; i < stopped.size(); ++i) {
      ASSERT_TRUE(resumed[i].status.ok()) << resumed[i].err;
      std::vector<double> both = losses(stopped[i].result);
      for (const double loss : losses(resumed[i])) both.push_back(loss);
      EXPECT_EQ(both, losses(whole[i])) << "rank " << i;
    }
  }

  static constexpr const char* kSteps = "max_steps: 60\neval_every: 1000\n";
  static constexpr const char* kEndless = "max_steps: 1000000\neval_every: 1000000\n";

  bool long_evaluations_ = false;

 private:
  int runs_ = 0;
};

TEST_F(StoppingTest, ASignalEndsATrainingWithACheckpointOfItsLastStep) {
  const auto alone = stop(1, kSteps, "STEP_END", "kill -TERM ${pid[0]}");
  expect_stopped(alone);
  ASSERT_FALSE(HasFailure());
  expect_the_same_losses(alone, kSteps);
}

TEST_F(StoppingTest, ASignalToOneRankStopsAllAfterTheSameStep) {
  const auto ranks = stop(2, kSteps, "STEP_END", "kill -TERM ${pid[1]}");
  expect_stopped(ranks);
  ASSERT_FALSE(HasFailure());
  expect_the_same_losses(ranks, kSteps);
}

TEST_F(StoppingTest, RanksThatGetTheSignalOneAfterTheOtherStopAfterTheSameStep) {
  expect_stopped(
      stop(2, kEndless, "STEP_END", "kill -TERM ${pid[0]}; sleep 0.3; kill -TERM ${pid[1]}"));
}

TEST_F(StoppingTest, RanksThatShareTheModelStopTogether) {
  expect_stopped(stop(2, std::string(kEndless) + "optimizer: sgd\nzero: 1\n", "STEP_END",
                      "kill -TERM ${pid[1]}"));
}

// timeout(1) does so.
TEST_F(StoppingTest, ASignalThatComesTwiceAtOnceIsOneRequest) {
  expect_stopped(stop(1, kEndless, "STEP_END", "kill -TERM ${pid[0]}; kill -TERM ${pid[0]}"));
}

TEST_F(StoppingTest, ASecondSignalEndsItWithoutACheckpoint) {
  // Rank 0 waits for rank 1 within its step.
  const auto ranks = stop(2, kEndless, "STEP_END",
                          "kill -STOP ${pid[1]}; kill -TERM ${pid[0]}; sleep 1.5; "
                          "kill -TERM ${pid[0]}; wait ${pid[0]}; kill -KILL ${pid[1]}");
  EXPECT_EQ(ranks[0].code, 143);
  EXPECT_EQ(latest(), "");
  EXPECT_THAT(ranks[0].result.err, Not(HasSubstr("stopped by")));
}

TEST_F(StoppingTest, ASignalBeforeTheFirstStepLeavesNothing) {
  for (const int world : {1, 2}) {
    hold();
    for (const Rank& rank :
         stop(world, std::string(kEndless) + "resume: true\n", "INIT_START", let_go(""))) {
      EXPECT_EQ(rank.code, 143) << rank.result.err;
      EXPECT_EQ(rank.last_step(), 0);
    }
    EXPECT_TRUE(fs::is_fifo(there() / "latest"));  // else it was replaced
  }
}

TEST_F(StoppingTest, ACheckpointThatIsThereIsNotWrittenAgain) {
  const std::string settings = std::string(kEndless) + "checkpoint_every: 1\n";
  const auto first = stop(1, settings, "STEP_END", "kill -TERM ${pid[0]}");
  expect_stopped(first);
  ASSERT_FALSE(HasFailure());
  std::int64_t written = 0;
  for (const Json& phase : events(first[0].result, "PHASE"))
    written += phase.at("value").at("name") == "checkpoint" ? 1 : 0;
  EXPECT_EQ(written, 1 + first[0].last_step());  // the folder was tried, too
  const std::string newest = latest();
  hold();
  const auto resumed = stop(1, settings + "resume: true\n", "INIT_START", let_go(newest));
  EXPECT_EQ(resumed[0].code, 143) << resumed[0].result.err;
  EXPECT_EQ(resumed[0].last_step(), 0);
  EXPECT_THAT(resumed[0].result.err, HasSubstr("last checkpoint: step " + newest));
  EXPECT_TRUE(fs::is_fifo(there() / "latest"));
}

TEST_F(StoppingTest, AnEvaluationIsFinishedBefore) {
  long_evaluations_ = true;
  const auto alone =
      stop(1, "max_steps: 1000000\neval_every: 1\n", "STEP_END", "kill -TERM ${pid[0]}");
  expect_stopped(alone);
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(events(alone[0].result, "EVALUATE").back().at("step"), alone[0].last_step());
}

// A file may have 1 MiB; without the trap the signal would end the process.
TEST_F(StoppingTest, ADiskWithoutRoomLeavesTheSignalsExitCode) {
  for (const int world : {1, 2}) {
    const auto ranks =
        stop(world, kEndless, "STEP_END", "kill -TERM ${pid[0]}", "trap '' XFSZ; ulimit -f 1024");
    for (const Rank& rank : ranks) EXPECT_EQ(rank.code, 143) << rank.result.err;
    EXPECT_THAT(ranks[0].result.err, HasSubstr("a checkpoint cannot be written: File too large"));
    EXPECT_THAT(ranks[0].result.err, HasSubstr("last checkpoint: none"));
    EXPECT_EQ(latest(), "");
  }
}

}  // namespace
}  // namespace assay::train
