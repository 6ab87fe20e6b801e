#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "read_events.h"
#include "tensorboard/run_events.h"
#include "unit/live/run_folder.h"

namespace assay::tensorboard {
namespace {

using live::testing::RunFolder;
using testing::read_events;

std::filesystem::path only_file_in(const std::filesystem::path& folder) {
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) found = entry.path();
  return found;
}

std::string step_line(int number, double seconds, double loss) {
  return fmt::format(
      "[PerfLog] {{\"event\": \"STEP_END\", \"value\": {{\"loss\": {}, \"samples\": 32, "
      "\"lr\": 0.1}}, \"step\": {}, \"metadata\": {{\"time_ms\": {}}}}}\n",
      loss, number, RunFolder::kStartMs + static_cast<std::int64_t>(seconds * 1e3));
}

std::vector<Json> tagged(const std::vector<Json>& events, const std::string& tag) {
  std::vector<Json> out;
  std::ranges::copy_if(events, std::back_inserter(out),
                       [&](const Json& event) { return event["tag"] == tag; });
  return out;
}

TEST(RunEvents, OfARankAreOverItsSteps) {
  RunFolder run;
  run.append(RunFolder::log(1), step_line(10, 1, 0.9) + step_line(20, 2, 0.8));
  const testing::TemporaryFolder out;
  RunEvents events(run.path(), out.path());
  events.look();
  const auto read = read_events(only_file_in(out.path() / "c" / "round1" / "rank1"));
  const auto loss = tagged(read, "train/loss");
  ASSERT_EQ(loss.size(), 2U);
  EXPECT_EQ(loss[0]["step"], 10);
  EXPECT_FLOAT_EQ(loss[1]["value"].get<float>(), 0.8F);
  EXPECT_NEAR(loss[1]["at"].get<double>(), static_cast<double>(RunFolder::kStartMs) / 1e3 + 2,
              1e-3);
  const auto speed = tagged(read, "speed/samples_per_second");
  ASSERT_EQ(speed.size(), 1U);
  EXPECT_NEAR(speed[0]["value"].get<double>(), 32, 1e-3);
}

TEST(RunEvents, OfAnExperimentAreByTrial) {
  RunFolder run;
  const auto epoch = [](int trial, int seconds, double loss) {
    return fmt::format(
        "[PerfLog] {{\"event\": \"STEP_END\", \"value\": {{\"loss\": {}, \"trial\": {}}}, "
        "\"step\": 1, \"metadata\": {{\"time_ms\": {}}}}}\n",
        loss, trial, RunFolder::kStartMs + seconds * 1000);
  };
  run.append(RunFolder::log(0), epoch(0, 1, 0.9) + epoch(4, 2, 2.5));
  const testing::TemporaryFolder out;
  RunEvents events(run.path(), out.path());
  events.look();
  const auto read = read_events(only_file_in(out.path() / "c" / "round1" / "rank0"));
  EXPECT_TRUE(tagged(read, "train/loss").empty());
  EXPECT_EQ(tagged(read, "trial0/train/loss").size(), 1U);
  EXPECT_EQ(tagged(read, "trial4/train/loss").size(), 1U);
}

TEST(RunEvents, OfANodeAreOverTheSecondsOfTheRound) {
  RunFolder run;
  run.append("c/round1/n0_noderank0/telemetry.csv",
             fmt::format("mono_ns,wall_ns,source,util,mem_used_bytes,power_w,temp_c\n"
                         "1,{},dev1,0.5,1024,300,60\n",
                         (RunFolder::kStartMs + 7000) * 1'000'000));
  const testing::TemporaryFolder out;
  RunEvents events(run.path(), out.path());
  events.look();
  const auto power = tagged(read_events(only_file_in(out.path() / "c" / "round1" / "n0_noderank0")),
                            "device1/power_watts");
  ASSERT_EQ(power.size(), 1U);
  EXPECT_EQ(power[0]["step"], 7);
  EXPECT_EQ(power[0]["value"], 300);
}

TEST(RunEvents, GoOnWhileTheRunDoes) {
  RunFolder run;
  run.hold();
  run.append(RunFolder::log(0), step_line(1, 1, 0.9));
  const testing::TemporaryFolder out;
  RunEvents events(run.path(), out.path());
  events.look();
  run.append(RunFolder::log(0), step_line(2, 2, 0.8));
  events.look();
  const auto read = read_events(only_file_in(out.path() / "c" / "round1" / "rank0"));
  EXPECT_EQ(tagged(read, "train/loss").size(), 2U);
}

TEST(RunEvents, OfWhatAnAgentSentAreReplacedByThoseOfTheEvidence) {
  RunFolder run;
  run.hold();
  run.append("live-logs/" + RunFolder::log(0), step_line(1, 1, 0.9));
  const testing::TemporaryFolder out;
  RunEvents events(run.path(), out.path());
  events.look();
  const std::filesystem::path curves = out.path() / "c" / "round1" / "rank0";
  EXPECT_EQ(tagged(read_events(only_file_in(curves)), "train/loss").size(), 1U);
  std::filesystem::remove_all(run.file("live-logs"));
  run.append(RunFolder::log(0), step_line(1, 1, 0.9) + step_line(2, 2, 0.8));
  events.look();
  const auto files = std::distance(std::filesystem::directory_iterator(curves), {});
  EXPECT_EQ(files, 1) << "or everything is there twice";
  EXPECT_EQ(tagged(read_events(only_file_in(curves)), "train/loss").size(), 2U);
  EXPECT_FALSE(std::filesystem::exists(out.path() / "live-logs"));
}

TEST(RunEvents, AreNoneOfARunWithoutLogs) {
  const RunFolder run;
  const testing::TemporaryFolder out;
  RunEvents events(run.path(), out.path() / "new");
  events.look();
  EXPECT_EQ(events.files(), 0U);
  EXPECT_FALSE(std::filesystem::exists(out.path() / "new"));
}

}  // namespace
}  // namespace assay::tensorboard
