// What ranks say that cannot be.

#include <gmock/gmock.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Claims : public AssayTest {
 protected:
  // A training of `steps` steps in Python; `clock` is an expression of the true time t, in seconds
  // since the rank's start, and `leave` is the step after which it just ends.
  [[nodiscard]] fs::path training(int steps, const std::string& clock, int leave = 1 << 30) const {
    write("train.py", R"(
import json, os, time
w0, m0 = time.time(), time.monotonic()
def log(event, **extra):
    t = time.monotonic() - m0
    t = )" + clock + R"(
    line = {"event": event, **extra, "metadata": {"time_ms": int((w0 + t) * 1e3), "rank": 0,
                                                  "mono_us": int((m0 + t) * 1e6)}}
    print("[PerfLog]", json.dumps(line), flush=True)
log("TRAIN_START")
for step in range(1, )" + std::to_string(steps + 1) +
                          R"():
    time.sleep(0.02)
    log("STEP_END", value={"loss": 1.0 / step, "samples": 8}, step=step)
    if step == )" + std::to_string(leave) +
                          R"( and os.environ["RANK"] == "1": os._exit(0)
log("TRAIN_END")
)");
    return write("claims.yaml",
                 "name: claims\ncases:\n"
                 "  - name: probe\n    procs: 2\n    rules: {stragglers: off}\n"
                 "    command: [python3, " +
                     (folder_ / "train.py").string() + "]\n");
  }

  [[nodiscard]] std::string findings() const {
    std::string text;
    const Json all = result()["cases"][0]["rounds"][0]["findings"];
    for (const Json& finding : all)
      text +=
          finding["rule"].get<std::string>() + ": " + finding["reason"].get<std::string>() + "\n";
    return text;
  }
  [[nodiscard]] fs::path log_of(std::size_t rank) const {
    const Json ranks = result()["cases"][0]["rounds"][0]["ranks"];
    return latest() / ranks[rank]["log"].get<std::string>();
  }
  [[nodiscard]] std::string validity() const { return result()["cases"][0]["validity"]; }
};

TEST_F(Claims, AnHonestTrainingIsMeasured) {
  const CommandResult run = assay({"run", training(60, "t").string()});
  for (const char* rule : {"times-", "rank-clocks", "training-ended", "equal-steps", "repeated",
                           "counters", "logs-", "steps-logged"})
    EXPECT_THAT(findings(), Not(HasSubstr(rule))) << run.out << run.err;
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["metrics"]["p_whole"]["origin"], "measured");
}

TEST_F(Claims, AReplayedLogIsNotValid) {
  (void)assay({"run", training(60, "t").string()});
  fs::copy_file(log_of(0), folder_ / "old.log");
  const fs::path suite = script_suite("cat " + (folder_ / "old.log").string() + "; sleep 2\n");
  EXPECT_NE(assay({"run", suite.string()}).status.code, 0);
  EXPECT_EQ(validity(), "INVALID");
  EXPECT_THAT(findings(), AllOf(HasSubstr("times-within-run"), HasSubstr("rank 0"),
                                HasSubstr("line 1 of "), HasSubstr("before the rank's start")));
}

TEST_F(Claims, AClockThatRunsTenTimesAsFastIsNotValid) {
  EXPECT_NE(assay({"run", training(60, "10 * t").string()}).status.code, 0);
  EXPECT_EQ(validity(), "INVALID");
  // On a slow machine a line is late before the rank is.
  EXPECT_THAT(findings(), AllOf(HasSubstr("times-within-run"),
                                AnyOf(HasSubstr("but it ended"), HasSubstr("later than when"))));
}

TEST_F(Claims, AClockThatIsOneHourAheadInTheMiddleIsNotValid) {
  EXPECT_NE(assay({"run", training(60, "t + (3600 if t > 0.6 else 0)").string()}).status.code, 0);
  EXPECT_EQ(validity(), "INVALID");
  EXPECT_THAT(findings(), HasSubstr("times-within-run"));
}

TEST_F(Claims, ARankThatLeavesInTheMiddleIsNotValid) {
  EXPECT_NE(assay({"run", training(60, "t", 25).string()}).status.code, 0);
  EXPECT_NE(validity(), "VALID");
  EXPECT_THAT(findings(), AllOf(HasSubstr("training-ended"), HasSubstr("rank 1 left after step 25"),
                                HasSubstr("equal-steps")));
}

TEST_F(Claims, ALogThatIsCutIsNotValid) {
  (void)assay({"run", training(60, "t").string()});
  const fs::path log = log_of(1);
  std::string text = read_file(log);
  text.resize(text.rfind('\n', text.size() / 2) + 1);
  write_file_atomic(log, text);
  (void)assay({"report", "results/latest"});
  EXPECT_NE(validity(), "VALID");
  EXPECT_THAT(findings(), AllOf(HasSubstr("logs-whole"), HasSubstr("steps-logged"),
                                HasSubstr("training-ended")));
}

}  // namespace assay::e2e
