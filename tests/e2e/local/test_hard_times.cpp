// What happens to a run beside its own failures: programs that go on in the background, a disk
// that is full to its last byte, a machine that loses power, a clock that is set
// (docs/reliability.md).

#include <fstream>

#include <gmock/gmock.h>
#include <sys/mount.h>

#include "core/files.h"
#include "e2e/harness.h"
#include "needs.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class HardTimes : public AssayTest {
 protected:
  void TearDown() override {
    for (const fs::path& folder : mounted_) ::umount2(folder.c_str(), MNT_DETACH);
    AssayTest::TearDown();
  }
  [[nodiscard]] std::string journal() const {
    return read_file_or_empty(folder_ / "results/latest/journal.jsonl");
  }
  /// Two writes of the same: the image of a disk, and what makes it a folder.
  [[nodiscard]] bool mount_image(const fs::path& image, const fs::path& folder) {
    fs::create_directories(folder);
    const bool done =
        run_command({"mount", "-o", "loop", image.string(), folder.string()}).status.ok();
    if (done) mounted_.push_back(folder);
    return done;
  }

  std::vector<fs::path> mounted_;
};

// What it prints after the end of its rank is not there, so its number is not the whole one's.
TEST_F(HardTimes, AProgramThatGoesOnInTheBackgroundIsNotMeasuredAsAWhole) {
  const fs::path suite = script_suite(
      "setsid sh -c 'for i in $(seq 60); do echo speed: $i; sleep 0.1; done' & sleep 1\n",
      "    metrics: {speed: {match: 'speed: (\\d+)', unit: it/s, better: higher}}\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_EQ(result()["validity"], "INCOMPLETE");
  const std::string findings = result()["cases"][0]["rounds"][0]["findings"].dump();
  EXPECT_THAT(findings, HasSubstr("output-metrics-ended"));
  EXPECT_THAT(findings, HasSubstr("in the foreground"));
}

TEST_F(HardTimes, ACommandTooShortToMeasureIsWarnedOf) {
  const fs::path suite =
      script_suite("echo speed: 5\n",
                   "    metrics: {speed: {match: 'speed: (\\d+)', unit: it/s, better: higher}}\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(result()["cases"][0]["rounds"][0]["findings"].dump(), HasSubstr("min-command-time"));
}

TEST_F(HardTimes, ARunThatFilledItsDiskIsSealedAndRunAgainWithFailed) {
  const fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  if (::mount("assay-test", disk.c_str(), "tmpfs", 0, "size=120k") != 0)
    GTEST_SKIP() << needs::root("to mount a tmpfs");
  mounted_.push_back(disk);
  const fs::path suite = script_suite("head -c 262144 /dev/zero | tr '\\0' '\\n'\necho speed: 5\n");
  const CommandResult run = assay({"run", suite.string(), "--out", disk.string()});
  EXPECT_EQ(run.status.code, 3) << "its reports have no room";
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("not sealed")));
  ASSERT_EQ(::mount("assay-test", disk.c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
  const fs::path folder = fs::canonical(disk / "latest");
  const CommandResult resumed = assay({"run", "--resume", folder.string(), "--failed"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  EXPECT_TRUE(fs::exists(folder / "seal.json"));
}

TEST_F(HardTimes, WithoutAHomeARunIsValidAndNotSigned) {
  const fs::path suite = script_suite("sleep 0.6\n");
  const CommandResult run = run_command({"env", "-u", "HOME", "-u", "ASSAY_KEYS", "-u",
                                         "XDG_CONFIG_HOME", ASSAY_BIN_DIR "/assay", "run",
                                         suite.string(), "--out", (folder_ / "results").string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_EQ(result()["validity"], "VALID");
  EXPECT_THAT(result()["findings"].dump(), HasSubstr("seal-signed"));
  EXPECT_THAT(result()["findings"].dump(), HasSubstr("there is no place for keys"));
}

TEST_F(HardTimes, WithoutOutputAndErrorsACommandEndsAsWithThem) {
  const fs::path suite = script_suite("sleep 0.6\n");
  const auto closed = [&](const std::string& command) {
    return run_command(
               {"/bin/sh", "-c", "exec " ASSAY_BIN_DIR "/assay " + command + " <&- >&- 2>&-"})
        .status;
  };
  EXPECT_EQ(closed("--version").code, 0);
  EXPECT_EQ(closed("no-such-command").code, 2);
  EXPECT_EQ(closed("run " + suite.string() + " --out " + (folder_ / "results").string()).code, 0);
  EXPECT_EQ(result()["validity"], "VALID");
}

// The disk as it is at some moment, as a power failure leaves it.
TEST_F(HardTimes, ARunGoesOnAfterAPowerFailure) {
  const fs::path image = folder_ / "disk.img";
  std::ofstream(image).close();
  fs::resize_file(image, std::uintmax_t{64} << 20);
  if (!run_command({"mkfs.ext4", "-q", "-F", image.string()}).status.ok())
    GTEST_SKIP() << needs::package("e2fsprogs");
  const fs::path before = folder_ / "before";
  if (!mount_image(image, before)) GTEST_SKIP() << needs::system("mounting the image of a disk");
  const fs::path suite =
      script_suite("for i in 1 2 3 4 5 6; do echo step $i; sleep 0.1; done\n", "    repeats: 5\n");
  const pid_t pid = start({"run", suite.string(), "--out", (before / "results").string()});
  const auto ended = [&](const fs::path& results) {
    const std::string text = read_file_or_empty(results / "latest/journal.jsonl");
    int rounds = 0;
    for (auto at = text.find("\"round_end\""); at != std::string::npos;
         at = text.find("\"round_end\"", at + 1))
      ++rounds;
    return rounds;
  };
  ASSERT_TRUE(eventually([&] { return ended(before / "results") >= 3; }, 60s))
      << read_file_or_empty(folder_ / "assay.log");
  const fs::path left = folder_ / "left.img";
  fs::copy_file(image, left);
  ASSERT_TRUE(wait(pid, 60s));
  const fs::path after = folder_ / "after";
  ASSERT_TRUE(mount_image(left, after));
  const fs::path run = fs::canonical(after / "results/latest");
  EXPECT_GE(ended(after / "results"), 3) << "the journal is on the disk";
  const CommandResult resumed = assay({"run", "--resume", run.string()}, 60s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  const Json result = read_json(run / "result.json");
  EXPECT_EQ(result["validity"], "VALID") << result["findings"];
  EXPECT_EQ(result["cases"][0]["rounds"].size(), 5u);
}

class ClockThatIsSet : public HardTimes, public ::testing::WithParamInterface<int> {};

// For the controller, the agent and the rank alike.
TEST_P(ClockThatIsSet, IsSeenAndChangesNoTime) {
  use_dynamic_agent();
  const fs::path moment = folder_ / "now";
  ::setenv("LD_PRELOAD", ASSAY_BIN_DIR "/libskewed_clock.so", 1);
  ::setenv("ASSAY_TEST_CLOCK_OFFSET_S", std::to_string(GetParam()).c_str(), 1);
  ::setenv("ASSAY_TEST_CLOCK_SET_AT", moment.c_str(), 1);
  const pid_t pid = start(
      {"run", write("suite.yaml",
                    "name: s\ntelemetry: {interval: 200ms}\ncases:\n"
                    "  - {case: 'null:native:cpu:1:1:1', config: {steps: 300, step_ms: 10}}\n")
                  .string()});
  for (const char* name : {"LD_PRELOAD", "ASSAY_TEST_CLOCK_OFFSET_S", "ASSAY_TEST_CLOCK_SET_AT"})
    ::unsetenv(name);
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "results/latest/live.json"); }, 30s))
      << read_file_or_empty(folder_ / "assay.log");
  std::ofstream(moment) << "set";
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << "a wait was on the clock that was set";
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["validity"], "VALID") << round["findings"];
  EXPECT_THAT(round["findings"].dump(), HasSubstr("a wall clock stepped by"));
  for (const char* name : {"e2e_time", "train_time"}) {
    double seconds = 0;
    for (const auto& [key, value] : round["metrics"].items())
      if (key == name)
        seconds = value.is_object() ? value["value"].get<double>() : value.get<double>();
    EXPECT_GT(seconds, 2.9) << name << " of 300 steps of 10 ms";
    EXPECT_LT(seconds, 60) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(ByAnHour, ClockThatIsSet, ::testing::Values(3600, -3600),
                         [](const auto& with) { return with.param > 0 ? "Forward" : "Back"; });

}  // namespace assay::e2e
