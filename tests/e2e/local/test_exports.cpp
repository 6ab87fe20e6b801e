// A run in the formats of other programs, held against what the run itself holds.

#include <gmock/gmock.h>

#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::HasSubstr;

class Exports : public AssayTest {};

TEST_F(Exports, WandbHoldsWhatTheResultAndTheLogsOfTheRanksSay) {
  // 400 steps are several blocks of the log.
  const fs::path suite = script_suite(
      "now=$(date +%s)000\n"
      "for i in $(seq 1 400); do\n"
      "  loss=0.$((1000 - i))$RANK\n"
      "  test $i = 7 && loss=NaN\n"
      "  echo '[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": '$loss', \"samples\": 8},"
      " \"step\": '$((i * 10))', \"metadata\": {\"time_ms\": '$((now + i * 2))'}}'\n"
      "done\n"
      "echo speed=12.5\n",
      "    procs: 2\n"
      "    repeats: 2\n"
      "    metrics: {speed: {match: 'speed=([0-9.]+)'}}\n");
  const CommandResult run = assay({"run", suite.string()});
  ASSERT_TRUE(fs::exists(latest() / "result.json")) << run.out << run.err;
  const CommandResult made =
      assay({"export", "wandb", latest().string(), "--to", (folder_ / "runs").string()});
  EXPECT_EQ(made.status.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("2 runs of the project "));
  EXPECT_THAT(made.out, HasSubstr("wandb sync " + (folder_ / "runs").string() + "/offline-run-*"));
  const CommandResult check =
      run_command({"python3", ASSAY_SOURCE_DIR "/tests/unit/exports/check_wandb.py",
                   latest().string(), (folder_ / "runs").string()});
  EXPECT_EQ(check.out, "2 rounds, 800 rows\n") << check.err;

  const CommandResult again =
      assay({"export", "wandb", latest().string(), "--to", (folder_ / "runs").string()});
  EXPECT_EQ(again.status.code, 2) << again.out;
  EXPECT_THAT(again.err, HasSubstr("is there already"));
}

}  // namespace assay::e2e
