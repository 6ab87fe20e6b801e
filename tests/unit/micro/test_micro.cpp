#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/subprocess.h"
#include "perflog/finished.h"
#include "send_signal.h"
#include "temporary_folder.h"
#include "unit/perflog/collect_events.h"

namespace assay::perflog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kProgram = ASSAY_BIN_DIR "/assay-micro";

struct Outcome {
  CommandResult result;
  Collected log;
};

class Micro : public testing::Test {
 protected:
  Outcome run(const std::string& workload, const std::string& config, CommandOptions options = {}) {
    const std::string path = folder_ / "config.json";
    write_file_atomic(path, config);
    options.timeout = std::chrono::seconds(30);
    Outcome out{run_command({kProgram, workload, "--config", path}, options), {}};
    out.log = collect(out.result.out);
    return out;
  }

  assay::testing::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

std::size_t count(const Collected& log, EventKind kind) {
  return static_cast<std::size_t>(std::count_if(
      log.events.begin(), log.events.end(), [&](const Kept& event) { return event.kind == kind; }));
}

TEST_F(Micro, NullEmitsTheWholeLifeOfATraining) {
  const Outcome got = run("null", R"({"steps": 6, "step_ms": 1, "samples": 8, "eval_every": 3})");
  ASSERT_TRUE(got.result.status.ok()) << got.result.err;
  std::vector<std::string> names;
  for (const Kept& event : got.log.events) names.push_back(event.name);
  EXPECT_THAT(names, ElementsAre("INIT_START", "INIT_END", "TRAIN_START", "STEP_END", "STEP_END",
                                 "STEP_END", "EVALUATE", "STEP_END", "STEP_END", "STEP_END",
                                 "EVALUATE", "TRAIN_END", "FINISHED"));
  EXPECT_EQ(got.log.events[9].step, 6);
  EXPECT_THAT(got.log.events[9].fields, testing::Contains("samples=8"));
  EXPECT_TRUE(got.log.text.empty());
}

TEST_F(Micro, NullKeepsItsAbsoluteDeadlines) {
  const Outcome got = run("null", R"({"steps": 40, "step_ms": 5, "jitter": 1.0})");
  ASSERT_TRUE(got.result.status.ok()) << got.result.err;
  const auto& events = got.log.events;
  const std::int64_t start = events.at(2).mono_us;
  for (std::size_t i = 3; i < 43; ++i) {
    const std::int64_t early = (static_cast<std::int64_t>(i) - 2) * 5000 - 2500;
    EXPECT_GE(events[i].mono_us - start, early - 100) << i;
  }
}

TEST_F(Micro, NullIsReproducibleAndDiffersBetweenRanks) {
  const auto losses = [&](const std::string& rank) {
    CommandOptions options;
    options.env["RANK"] = rank;
    options.env["WORLD_SIZE"] = "2";
    std::vector<std::string> out;
    for (const Kept& event : run("null", R"({"steps": 5, "step_ms": 0})", options).log.events)
      if (event.kind == EventKind::step_end) out.push_back(event.fields.at(0));
    return out;
  };
  EXPECT_EQ(losses("0").size(), 5U);
  EXPECT_EQ(losses("0"), losses("0"));
  EXPECT_NE(losses("0"), losses("1"));
}

TEST_F(Micro, MatmulComputesAndReportsItsPeak) {
  const Outcome got = run("matmul", R"({"size": 100, "steps": 3, "threads": 2})");
  ASSERT_TRUE(got.result.status.ok()) << got.result.err;
  EXPECT_EQ(count(got.log, EventKind::step_end), 3U);
  FinishedSummary summary;
  double samples = 0;
  double flops = 0;
  Parser parser([&](const Event& event) {
    if (event.kind == EventKind::finished) summary = summarize_finished(event);
    if (event.kind != EventKind::step_end) return;
    samples += event.find("samples")->number;
    flops += event.find("flops")->number;
    EXPECT_EQ(event.find("loss")->number, 0);
    EXPECT_GT(event.find("compute_s")->number, 0);
  });
  parser.feed(got.result.out);
  EXPECT_EQ(flops, samples * 2 * 100 * 100 * 100);
  ASSERT_TRUE(summary.peak_flops);
  EXPECT_GT(*summary.peak_flops, 1e7);
  EXPECT_FALSE(summary.converged);  // nothing was to be reached
}

TEST_F(Micro, MatmulIsRightForSizesThatFitNoBlock) {
  for (const int size : {1, 2, 13, 31, 33, 170, 385, 400}) {
    const Outcome got = run("matmul", "{\"steps\": 1, \"size\": " + std::to_string(size) + "}");
    EXPECT_TRUE(got.result.status.ok()) << size << ": " << got.result.err;
  }
}

TEST_F(Micro, MatmulRunsForItsMinimalTime) {
  const Outcome got = run("matmul", R"({"size": 32, "min_seconds": 0.05})");
  ASSERT_TRUE(got.result.status.ok()) << got.result.err;
  const auto& events = got.log.events;
  EXPECT_GE(events[events.size() - 2].mono_us - events[2].mono_us, 50000);
}

TEST_F(Micro, SaysWhatIsWrongWithTheConfiguration) {
  const auto error = [&](const std::string& workload, const std::string& config) {
    const Outcome got = run(workload, config);
    EXPECT_EQ(got.result.status.code, 2) << config;
    EXPECT_TRUE(got.log.events.empty()) << config;
    return got.result.err;
  };
  EXPECT_THAT(error("null", R"({"stepss": 5})"), HasSubstr("did you mean 'steps'"));
  EXPECT_THAT(error("null", R"({"steps": "5"})"), HasSubstr("'steps' must be a whole number"));
  EXPECT_THAT(error("null", R"({"steps": 1.5})"), HasSubstr("config.json"));
  EXPECT_THAT(error("null", R"({"jitter": 2})"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(error("null", R"({"step_ms": true})"), HasSubstr("'step_ms' must be a number"));
  EXPECT_THAT(error("null", R"([1])"), HasSubstr("not a mapping"));
  EXPECT_THAT(error("null", R"({"steps": )"), HasSubstr("config.json"));
  EXPECT_THAT(error("matmul", R"({"size": 0})"), HasSubstr("'size'"));
  EXPECT_THAT(error("matmul", R"({"dtype": "f64"})"), HasSubstr("f32"));
  EXPECT_THAT(error("matmull", "{}"), HasSubstr("did you mean 'matmul'"));
}

TEST_F(Micro, SaysWhatIsWrongWithTheCommandLineAndEnvironment) {
  EXPECT_EQ(run_command({kProgram}).status.code, 2);
  EXPECT_EQ(run_command({kProgram, "null", "--what"}).status.code, 2);
  EXPECT_EQ(run_command({kProgram, "null", "--config", "/nonexistent"}).status.code, 2);
  EXPECT_EQ(run_command({kProgram, "--help"}).status.code, 0);
  CommandOptions options;
  options.env["RANK"] = "two";
  const CommandResult result = run_command({kProgram, "null"}, options);
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("RANK"));
}

TEST_F(Micro, SigtermEndsItCleanly) {
  for (const std::string workload : {"null", "matmul"}) {
    const std::string out = folder_ / (workload + ".log");
    const std::string config = folder_ / "config.json";
    write_file_atomic(config, workload == "null" ? R"({"steps": 1000000, "step_ms": 1})"
                                                 : R"({"size": 64, "min_seconds": 60})");
    const pid_t child = ::fork();
    if (child == 0) {
      if (std::freopen(out.c_str(), "w", stdout) == nullptr) ::_exit(99);
      ::execl(kProgram.c_str(), kProgram.c_str(), workload.c_str(), "--config", config.c_str(),
              nullptr);
      ::_exit(98);
    }
    ASSERT_GT(child, 0);
    for (int i = 0; i < 1000; ++i) {
      if (read_file_or_empty(out).find("STEP_END") != std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    send_signal(child, SIGTERM);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(ExitStatus::from_wait(status).code, 128 + SIGTERM) << workload;
    const Collected log = collect(read_file(out));
    EXPECT_EQ(log.stats.malformed, 0U);
    EXPECT_FALSE(log.stats.truncated_tail);
    ASSERT_FALSE(log.events.empty());
    EXPECT_EQ(log.events.back().kind, EventKind::train_end) << "stopped: no FINISHED";
  }
}

TEST_F(Micro, ReportsThatItsLogCannotBeWritten) {
  const CommandResult result = run_command({"/bin/sh", "-c", kProgram + " null > /dev/full"});
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("could not be written"));
}

}  // namespace
}  // namespace assay::perflog
