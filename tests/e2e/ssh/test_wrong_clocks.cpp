// Nodes whose wall clock really is wrong: agent and ranks there read a clock that is an hour off.

#include <cmath>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/slurm_cluster.h"
#include "e2e/ssh_hosts.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

namespace {

constexpr const char* kPreload = ASSAY_BIN_DIR "/libskewed_clock.so";

/// Two nodes of one rank each, of which `wrong` has a clock that is `offset_s` off.
void expect_right_times(const Json& round, const fs::path& run, int offset_s,
                        const std::string& wrong) {
  EXPECT_EQ(round["status"], "completed");
  // The steps of both take as long, so the two ranks agree on everything that is measured.
  ASSERT_EQ(round["ranks"].size(), 2u);
  const auto metric = [&](const char* name) -> double {
    for (const auto& [key, value] : round["metrics"].items())
      if (key == name)
        return value.is_object() ? value["value"].get<double>() : value.get<double>();
    return std::nan("");
  };
  for (const char* time : {"e2e_time", "train_time"}) {
    EXPECT_GT(metric(time), 2.9) << time << " of 300 steps of 10 ms";
    EXPECT_LT(metric(time), 100) << time;
  }
  EXPECT_GT(round["ranks"][0]["mean_step_s"].get<double>(), 0.009);
  EXPECT_NEAR(round["ranks"][1]["mean_step_s"].get<double>(),
              round["ranks"][0]["mean_step_s"].get<double>(), 0.005);
  EXPECT_NEAR(metric("p_train"), metric("samples") / metric("train_time"), 1);
  // Telemetry of both nodes falls into the training.
  EXPECT_GT(metric("cpu_util"), 0);
  for (const Json& phase : round["phases"]) {
    EXPECT_GE(phase["start_s"].get<double>(), 0) << phase;
    EXPECT_GE(phase["end_s"].get<double>(), phase["start_s"].get<double>()) << phase;
    EXPECT_LT(phase["end_s"].get<double>(), 100) << phase;
  }
  EXPECT_GE(metric("launch_time"), -0.01);
  EXPECT_LT(metric("launch_time"), 60);
  // It really was wrong: the rank's own log says so.
  const auto first_ms = [&](int rank) {
    const std::string log = read_file(run / round["ranks"][rank]["log"].get<std::string>());
    const auto at = log.find("\"time_ms\": ");
    return at == std::string::npos ? 0.0 : std::stod(log.substr(at + 11));
  };
  EXPECT_NEAR((first_ms(1) - first_ms(0)) / 1e3, offset_s, 30);
  // Journal: what was measured at the start.
  double measured = 0;
  const std::string journal = read_file(run / "journal.jsonl");
  for (const auto line : split(journal, '\n')) {
    const Json event = parse_json_or_null(line);
    if (event.is_object() && event["event"] == "clock_offset" && event["host"] == wrong)
      measured = event["offset_s"].get<double>();
  }
  EXPECT_NEAR(measured, offset_s, 0.5);
  // The rule names the node, how far it is off, and how well that is known.
  const std::string all = dump_line(round);
  EXPECT_THAT(all, HasSubstr(wrong + ": 3600.0 s " + (offset_s > 0 ? "ahead" : "behind") +
                             ", measured within"));
}

std::string null_case() {
  return "telemetry: {interval: 200ms}\ncases:\n"
         "  - {case: 'null:native:cpu:2:1:1', config: {steps: 300, step_ms: 10}}\n";
}

}  // namespace

class WrongClockOverSsh : public SshTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    SshTest::SetUp();
    if (IsSkipped()) return;
    use_dynamic_agent();
    std::ofstream(folder_ / "sshd/sshd_config", std::ios::app)
        << "Match LocalAddress " << SshDaemon::host(2) << "\nSetEnv LD_PRELOAD=" << kPreload
        << " ASSAY_TEST_CLOCK_OFFSET_S=" << GetParam() << "\n";
    send_signal(sshd_.pid(), SIGHUP);
    ASSERT_TRUE(eventually([this] { return takes_connections("127.0.0.1", sshd_.port()); }, 20s));
  }
};

TEST_P(WrongClockOverSsh, IsNamedAndChangesNoTime) {
  const fs::path file = write("suite.yaml", "name: s\n" + sshd_.cluster(2) + null_case());
  const CommandResult checked = assay({"check", file.string()}, 120s);
  EXPECT_EQ(checked.status.code, 3) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("clock-skew"));
  EXPECT_THAT(checked.out, HasSubstr(GetParam() > 0 ? "ahead of the controller's clock"
                                                    : "behind the controller's clock"));
  const CommandResult run = assay({"run", file.string()}, 120s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.err + run.out, HasSubstr("the clock of " + SshDaemon::host(2)));
  EXPECT_THAT(run.err + run.out, Not(HasSubstr("the clock of " + SshDaemon::host(1))));
  expect_right_times(result()["cases"][0]["rounds"][0], latest(), GetParam(), SshDaemon::host(2));
}

INSTANTIATE_TEST_SUITE_P(ByAnHour, WrongClockOverSsh, ::testing::Values(3600, -3600),
                         [](const auto& with) { return with.param > 0 ? "Ahead" : "Behind"; });

class WrongClockUnderSlurm : public SlurmTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    SlurmTest::SetUp();
    if (!IsSkipped()) use_dynamic_agent();
  }
};

TEST_P(WrongClockUnderSlurm, IsNamedAndChangesNoTime) {
  const fs::path file = write("suite.yaml",
                              "name: s\ncluster: {launcher: slurm, slurm: {wait: 60s, nodelist: "
                              "'n[1-2]'}}\n" +
                                  null_case());
  // srun hands the environment on; only what slurmd starts on n2 has the other clock.
  ::setenv("LD_PRELOAD", kPreload, 1);
  ::setenv("ASSAY_TEST_CLOCK_OFFSET_S", std::to_string(GetParam()).c_str(), 1);
  ::setenv("ASSAY_TEST_CLOCK_NODE", "n2", 1);
  const CommandResult run = assay({"run", file.string()}, 120s);
  for (const char* name : {"LD_PRELOAD", "ASSAY_TEST_CLOCK_OFFSET_S", "ASSAY_TEST_CLOCK_NODE"})
    ::unsetenv(name);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.err + run.out, HasSubstr("the clock of n2"));
  expect_right_times(result()["cases"][0]["rounds"][0], latest(), GetParam(), "n2");
}

INSTANTIATE_TEST_SUITE_P(ByAnHour, WrongClockUnderSlurm, ::testing::Values(3600, -3600),
                         [](const auto& with) { return with.param > 0 ? "Ahead" : "Behind"; });

}  // namespace assay::e2e
