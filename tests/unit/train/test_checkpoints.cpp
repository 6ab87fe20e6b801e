// Checkpoints of assay-train that were changed, lost a file, or are of another training.
#include <filesystem>

#include <gmock/gmock.h>

#include "core/file_lock.h"
#include "core/files.h"
#include "program_test.h"

namespace assay::train {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CheckpointTest : public ProgramTest {
 protected:
  static constexpr const char* kShort =
      "train_size: 96\neval_size: 16\neval_batch_size: 8\nthreads: 1\nloader_threads: 1\n"
      "warmup_steps: 2\nbatch_size: 8\nepochs: 0\nsequence: 32\n";

  [[nodiscard]] fs::path there() const { return folder_.path() / "c"; }
  [[nodiscard]] std::string text(const std::string& more) const {
    return kShort + more + "checkpoint: " + there().string() + "\n";
  }
  // Steps 1 and 2.
  void make_checkpoints() {
    const CommandResult made = train("llama-tiny", text("max_steps: 2\ncheckpoint_every: 1\n"));
    ASSERT_TRUE(made.status.ok()) << made.err;
  }
  CommandResult resume(const std::string& more = {}) {
    return train("llama-tiny", text("max_steps: 3\nresume: true\n" + more));
  }
  void flip_bit(const std::string& name) const {
    std::string bytes = read_file(there() / name);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file_atomic(there() / name, bytes);
  }
  // As a version before the checksums wrote it.
  void write_info(const std::string& key, const Json& value) const {
    const fs::path path = there() / "step2/info.json";
    Json info = parse_json(read_file(path), "info");
    info.erase("crc32c");
    info[key] = value;
    write_file_atomic(path, info.dump());
  }
};

TEST_F(CheckpointTest, AChangedBitIsSeen) {
  make_checkpoints();
  for (const char* const name : {"step2/model.pt", "step2/rank0.pt"}) {
    flip_bit(name);
    const CommandResult damaged = resume();
    EXPECT_EQ(damaged.status.code, 3) << damaged.err;
    EXPECT_THAT(damaged.err, AllOf(HasSubstr(name), HasSubstr("the checkpoint is damaged")));
    EXPECT_TRUE(events(damaged, "STEP_END").empty());
    flip_bit(name);
  }
  const CommandResult fine = resume();
  EXPECT_TRUE(fine.status.ok()) << fine.err;
}

TEST_F(CheckpointTest, ValuesThatCannotBeAreDamage) {
  make_checkpoints();
  const std::string info = read_file(there() / "step2/info.json");
  for (const auto& [key, value] :
       {std::pair{"step", -1}, std::pair{"step", 1}, std::pair{"optimizer_steps", -2},
        std::pair{"optimizer_steps", 3}, std::pair{"epoch", -1}, std::pair{"batch", -1}}) {
    write_info(key, value);
    const CommandResult damaged = resume();
    EXPECT_EQ(damaged.status.code, 3) << damaged.err;
    EXPECT_THAT(damaged.err, AllOf(HasSubstr("the checkpoint is damaged"), HasSubstr(key)));
    write_file_atomic(there() / "step2/info.json", info);
  }
  // A value that could be, but is not what was written.
  std::string changed = info;
  changed.replace(changed.find("\"batch\": 2"), 10, "\"batch\": 1");
  write_file_atomic(there() / "step2/info.json", changed);
  EXPECT_THAT(resume().err, HasSubstr("info.json is not as it was written"));
}

TEST_F(CheckpointTest, OneOfBeforeTheChecksumsIsRead) {
  make_checkpoints();
  const fs::path path = there() / "step2/info.json";
  Json info = parse_json(read_file(path), "info");
  for (const char* const key : {"crc32c", "files", "kept", "train_samples", "data_checksum"})
    info.erase(key);
  write_file_atomic(path, info.dump());
  const CommandResult resumed = resume();
  ASSERT_TRUE(resumed.status.ok()) << resumed.err;
  EXPECT_EQ(events(resumed, "STEP_END").front().at("step"), 3);
}

TEST_F(CheckpointTest, TheNewestCompleteOneIsTakenWhenLatestIsLost) {
  make_checkpoints();
  write_file_atomic(there() / "latest", "");
  fs::create_directories(there() / "step7");  // was being written
  const CommandResult resumed = resume();
  ASSERT_TRUE(resumed.status.ok()) << resumed.err;
  EXPECT_EQ(events(resumed, "STEP_END").front().at("step"), 3);
  EXPECT_THAT(resumed.err, HasSubstr("step 2 is the newest complete checkpoint"));
}

TEST_F(CheckpointTest, ALatestThatNamesNothingIsAnErrorWithWhatIsThere) {
  make_checkpoints();
  for (const char* const wrong : {"9\n", "x\n"}) {
    write_file_atomic(there() / "latest", wrong);
    const CommandResult result = resume();
    EXPECT_EQ(result.status.code, 3);
    EXPECT_THAT(result.err, HasSubstr("step1, step2"));
  }
}

TEST_F(CheckpointTest, AMissingInfoIsNamed) {
  make_checkpoints();
  fs::remove(there() / "step2" / "info.json");
  const CommandResult result = resume();
  EXPECT_EQ(result.status.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("step2: "), HasSubstr("its info.json"),
                                HasSubstr("remove the file 'latest'")));
}

TEST_F(CheckpointTest, CheckpointsThatLostTheirFilesAreNoReasonToStartAnew) {
  make_checkpoints();
  fs::remove(there() / "latest");
  for (const char* const step : {"step1", "step2"}) fs::remove(there() / step / "model.pt");
  const CommandResult result = resume();
  EXPECT_EQ(result.status.code, 3);
  EXPECT_THAT(result.err, HasSubstr("files are missing or cut in step2, step1"));
  EXPECT_TRUE(events(result, "STEP_END").empty());
}

TEST_F(CheckpointTest, OtherDataOrAnotherOptimizerAreRefusedWithBothValues) {
  make_checkpoints();
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string other = text("max_steps: 3\nresume: true\n");
    if (const std::size_t at = other.find(from); at != std::string::npos)
      other.replace(at, from.size(), to);
    else
      other += to + "\n";
    const CommandResult result = train("llama-tiny", other);
    EXPECT_EQ(result.status.code, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(refusal("seed: 1", "seed: 5"), HasSubstr("'seed: 1', not 'seed: 5'"));
  EXPECT_THAT(refusal("data_seed: 1", "data_seed: 5"),
              HasSubstr("'data_seed: 1', not 'data_seed: 5'"));
  EXPECT_THAT(refusal("sequence: 32", "sequence: 16"),
              HasSubstr("'sequence: 32', not 'sequence: 16'"));
  EXPECT_THAT(refusal("train_size: 96", "train_size: 104"),
              HasSubstr("data with 96 samples, not 104"));
  EXPECT_THAT(refusal("cross_documents: true", "cross_documents: false"),
              HasSubstr("'cross_documents: true', not 'cross_documents: false'"));
  EXPECT_THAT(refusal("layers: 0", "layers: 3"),
              HasSubstr("of another model: 'layers: 0', not 'layers: 3'"));
  EXPECT_THAT(refusal("tied: auto", "tied: no"), HasSubstr("'tied: auto', not 'tied: no'"));
  EXPECT_THAT(refusal("ema_decay: 0", "ema_decay: 0.5"),
              HasSubstr("'ema_decay: 0', not 'ema_decay: 0.5'"));
  EXPECT_THAT(
      refusal("optimizer: adamw", "optimizer: sgd"),
      AllOf(HasSubstr("'optimizer: adamw', not 'optimizer: sgd'"), HasSubstr("configuration")));
}

TEST_F(CheckpointTest, TwoTrainingsDoNotShareAFolder) {
  make_checkpoints();
  const std::string before = read_file(there() / "lock");
  EXPECT_THAT(before, HasSubstr("process "));
  const auto lock = try_lock_file(there() / "lock");
  ASSERT_TRUE(lock);
  const CommandResult second = resume();
  EXPECT_EQ(second.status.code, 3) << second.err;
  EXPECT_THAT(second.err, AllOf(HasSubstr("another training has its checkpoints in this folder"),
                                HasSubstr(before.substr(0, before.find('\n')))));
  EXPECT_EQ(read_file(there() / "latest"), "2\n");
}

TEST_F(CheckpointTest, ATrainingThatDoesNotGoOnSaysThatItLeavesEarlierOnes) {
  make_checkpoints();
  const CommandResult fresh = train("llama-tiny", text("max_steps: 5\n"));
  ASSERT_TRUE(fresh.status.ok()) << fresh.err;
  EXPECT_THAT(fresh.err, HasSubstr("2 checkpoints of an earlier training, up to step 2"));
  for (const char* const step : {"step1", "step2", "step5"})
    EXPECT_TRUE(fs::exists(there() / step / "info.json")) << step;
  EXPECT_THAT(resume("").err, Not(HasSubstr("of an earlier training")));
}

}  // namespace
}  // namespace assay::train
