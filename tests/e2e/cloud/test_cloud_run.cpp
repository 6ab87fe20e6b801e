#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cloud/iam.h"
#include "cloud/modelarts.h"
#include "cloud/training_jobs_v1.h"
#include "core/files.h"
#include "e2e/cloud/emulator_process.h"
#include "e2e/harness.h"
#include "send_signal.h"

namespace assay::cloud {
namespace {

namespace fs = std::filesystem;
using e2e::eventually;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using std::chrono_literals::operator""s;

constexpr const char* kSecret = "emulated-Secret/Key+with=marks";
// Leaves what an ais-bench job leaves.
constexpr const char* kResults = R"(
for a in "$@"; do case $a in --train_url=*) out=${a#*=};; esac; done
echo 2 > $out/ranksize.json
echo $((10 + RANK_ID)).5 > $out/throughput_$RANK_ID.json
if [ $RANK_ID = 0 ]; then echo 0.75 > $out/accuracy.json; fi
)";

/// `assay run` with the launcher modelarts against an emulator of the test's own.
class CloudRun : public e2e::AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    start_emulator();
    write_key();
  }
  void start_emulator() {
    emulator_.emplace(folder_, Json{{"access_key", "AKTEST0000000001"},
                                    {"secret_key", kSecret},
                                    {"user", "tester"},
                                    {"password", "of the test"},
                                    {"domain", "assay"},
                                    {"buckets", {"bucket-one"}},
                                    {"run_jobs", true},
                                    {"job_pending_s", 0},
                                    {"job_upload_s", 0.05}});
    service_.emplace(client_, credentials_, emulator_->url(), kProject);
    jobs_.emplace(*service_);
  }
  /// Two instances of one card that run `script`, with `$GO` the file "go" of the test's folder.
  std::string suite(const std::string& script, const std::string& more = {},
                    const std::string& limits = "{time: 60s, stall: 60s}") {
    fs::create_directories(folder_ / "code");
    write("code/boot.sh", script);
    write("suite.yaml",
          fmt::format(R"(name: cloud
vendor: cpu
telemetry: {{enabled: false}}
cluster:
  launcher: modelarts
  retries: {3}
  modelarts:
    endpoint: {0}
    obs_endpoint: {0}
    project: {1}
    bucket: bucket-one
    code: code
    engine: {6}
    flavor: modelarts.kat1.xlarge
    credentials: key.json
    poll: {7}
{2}
cases:
  - {{name: fit, model: fit, framework: sh, hardware: none, nodes: 2, procs: 1,
     command: [boot.sh, --epoch_size=3], {4}limits: {5}}}
)",
                      emulator_->url(), kProject, more, retries_,
                      v1_ ? "" : "env: {GO: '" + (folder_ / "go").string() + "'}, ", limits,
                      v1_ ? "Ascend-Powered-Engine/MindSpore-1.3-cann_5.0.2-"
                            "python3.7-euleros2.8-aarch64"
                          : kEngine,
                      poll_));
    return (folder_ / "suite.yaml").string();
  }
  void write_key(const Json& transfer = Json::object()) {
    write("key.json",
          Json{{"access_key", "AKTEST0000000001"}, {"secret_key", kSecret}, {"transfer", transfer}}
              .dump());
    ::chmod((folder_ / "key.json").c_str(), 0600);
  }
  std::uint64_t requests() {
    std::uint64_t all = 0;
    const Json counts = emulator_->control(client_, "GET", "counts");
    for (const auto& item : counts.items())
      if (item.key().starts_with("GET ")) all += item.value().get<std::uint64_t>();
    return all;
  }
  void job_fault(const Json& fault) {
    (void)emulator_->control(client_, "POST", "job-faults", fault);
  }
  void fault(const Json& fault) { (void)emulator_->control(client_, "POST", "faults", fault); }
  void clear_faults() { (void)emulator_->control(client_, "DELETE", "faults"); }
  fs::path round() const { return latest() / "fit/round1"; }
  std::string log_of(int node) const {
    return read_file_or_empty(round() /
                              fmt::format("worker-{0}_noderank{0}/rank{0}.out.log", node));
  }
  bool journal_has(const std::string& word) const {
    std::error_code ec;
    if (!fs::exists(folder_ / "results/latest", ec)) return false;
    return read_file_or_empty(folder_ / "results/latest/journal.jsonl").find(word) !=
           std::string::npos;
  }
  std::string said() const { return read_file_or_empty(folder_ / "assay.log"); }
  /// The run goes on in the background until its job has written `word` into the mirrored log.
  pid_t start_until(const std::string& file, const std::string& word) {
    const pid_t pid = start({"run", file});
    EXPECT_TRUE(eventually(
        [&] {
          std::error_code ec;
          return fs::exists(folder_ / "results/latest", ec) &&
                 log_of(0).find(word) != std::string::npos &&
                 log_of(1).find(word) != std::string::npos;
        },
        30s))
        << said();
    return pid;
  }
  void go() { write("go", ""); }

  int retries_ = 0;
  std::string poll_ = "20ms";
  bool v1_ = false;
  std::optional<EmulatorProcess> emulator_;
  http::Client client_;
  FixedCredentials credentials_{{"AKTEST0000000001", kSecret, ""}};
  std::optional<ModelArtsService> service_;
  std::optional<TrainingJobs> jobs_;
  const std::string waits_ =
      "echo started; while [ ! -e $GO ]; do sleep 0.02; done; echo on" + std::string(kResults);
};

TEST_F(CloudRun, UploadsTrainsMirrorsFetchesAndJudges) {
  const CommandResult run = assay({"run", suite("echo rank $RANK_ID $1" + std::string(kResults))});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_EQ(log_of(0).substr(0, 7), "rank 0 ");
  EXPECT_EQ(log_of(1).substr(0, 7), "rank 1 ");
  EXPECT_THAT(run.err + run.out, AllOf(HasSubstr("\"throughput_ratio\" : \"22.0\""),
                                       HasSubstr("\"accuracy\" : \"0.75\"")));
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  EXPECT_THAT(metrics.dump(), AllOf(HasSubstr("throughput_ratio"), HasSubstr("22.0")));
  EXPECT_EQ(read_json(round() / "train_result_info.json")["throughput_ratio"], "22.0");
}

TEST_F(CloudRun, ItsRecordIsComputedAgainFromTheEvidence) {
  ASSERT_EQ(assay({"run", suite("true" + std::string(kResults))}).status.code, 0);
  const std::string record = read_file(round() / "train_result_info.json");
  const std::string lines = read_file(round() / "report.txt");
  fs::remove(round() / "train_result_info.json");
  fs::remove(round() / "report.txt");
  const CommandResult report = assay({"report", "results/latest"});
  EXPECT_EQ(report.status.code, 0) << report.err;
  EXPECT_EQ(read_file(round() / "train_result_info.json"), record);
  EXPECT_EQ(read_file(round() / "report.txt"), lines);
  EXPECT_THAT(report.out + report.err, HasSubstr("\"throughput_ratio\" : \"22.0\""));
}

TEST_F(CloudRun, IsWhatTheTutorialSays) {
  emulator_.reset();
  const fs::path conf = fs::path(ASSAY_SOURCE_DIR) / "conf/suites/modelarts-emulated";
  emulator_.emplace(folder_, read_json(conf / "cloud.json"));
  ::setenv("HUAWEICLOUD_SDK_AK", "AKEMULATED", 1);
  ::setenv("HUAWEICLOUD_SDK_SK", "made-up-for-this-machine", 1);
  const CommandResult run =
      assay({"run", "modelarts-emulated", "--set", "cluster.modelarts.endpoint=" + emulator_->url(),
             "--set", "cluster.modelarts.obs_endpoint=" + emulator_->url()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  const auto number = [&](const std::string& name) {
    return std::stod(read_file(latest() / "fit/round1/results" / name));
  };
  const double mean = (number("0/throughput_0.json") + number("0/throughput_1.json") +
                       number("1/throughput_0.json") + number("1/throughput_1.json")) /
                      2;
  const Json record = read_json(round() / "train_result_info.json");
  EXPECT_NEAR(std::stod(record["throughput_ratio"].get<std::string>()), mean, 1e-6 * mean);
  EXPECT_EQ(record["accuracy"], "1.0");
  EXPECT_THAT(read_file(round() / "worker-1_noderank1/rank2.out.log"),
              HasSubstr("hello from card 1 of server 1"));
}

TEST_F(CloudRun, IsStoppedByAssayStop) {
  const pid_t pid = start_until(suite(waits_, "    stop_on_interrupt: true"), "started");
  const CommandResult stop = assay({"stop", "results/latest"});
  EXPECT_EQ(stop.status.code, 0) << stop.err;
  ASSERT_TRUE(wait(pid, 60s)) << said();
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped);
}

TEST_F(CloudRun, TwoRunsWithOtherCodeUseTheirOwn) {
  ASSERT_EQ(assay({"run", suite("echo code A" + std::string(kResults))}).status.code, 0);
  const fs::path first = fs::canonical(latest());
  ASSERT_EQ(assay({"run", suite("echo code B" + std::string(kResults))}).status.code, 0);
  const auto code_of = [](const fs::path& run) {
    return read_json(run / "result.json")["cases"][0]["rounds"][0]["executed"][0]["program"];
  };
  EXPECT_NE(code_of(first), code_of(latest()));
  EXPECT_THAT(read_file(first / "fit/round1/worker-0_noderank0/rank0.out.log"),
              HasSubstr("code A"));
  EXPECT_THAT(log_of(0), HasSubstr("code B"));
  // The code of the first run is still where its job would find it.
  EXPECT_THAT(code_of(first)["path"].get<std::string>(),
              HasSubstr(code_of(first)["sha256"].get<std::string>()));
}

TEST_F(CloudRun, ItsTimeIsTheServicesNotThatOfTheQuestions) {
  poll_ = "2s";
  const CommandResult run = assay({"run", suite("sleep 0.6" + std::string(kResults))});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  const TrainingJob job = jobs_->list("").at(0);
  EXPECT_DOUBLE_EQ(metrics["e2e_time"]["value"], static_cast<double>(job.duration_ms) / 1000);
  EXPECT_GE(metrics["e2e_time"]["value"], 0.6);
  EXPECT_THAT(metrics["e2e_time"]["note"].get<std::string>(), HasSubstr("service's clock"));
  EXPECT_EQ(metrics["launch_time"]["origin"], "estimated");
}

TEST_F(CloudRun, AClockThatIsTenMinutesOffMakesNoOddTimes) {
  emulator_.emplace(folder_, Json{{"access_key", "AKTEST0000000001"},
                                  {"secret_key", kSecret},
                                  {"buckets", {"bucket-one"}},
                                  {"run_jobs", true},
                                  {"job_pending_s", 0},
                                  {"job_upload_s", 0.05},
                                  {"clock_offset_s", 600}});
  service_.emplace(client_, credentials_, emulator_->url(), kProject);
  jobs_.emplace(*service_);
  const CommandResult run = assay({"run", suite("sleep 0.3" + std::string(kResults))});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  EXPECT_DOUBLE_EQ(metrics["e2e_time"]["value"],
                   static_cast<double>(jobs_->list("").at(0).duration_ms) / 1000);
  EXPECT_LT(metrics["launch_time"]["value"], 300);
  EXPECT_THAT(read_json(round() / "ais_result.json")["clocks"].get<std::string>(),
              HasSubstr("moved by -600"));
}

TEST_F(CloudRun, ShowsWhatItWouldDoWithoutAskingTheCloud) {
  const std::string file = suite(kResults);
  fault({{"kind", "status"}, {"status", 500}, {"count", -1}});
  const CommandResult plan = assay({"run", file, "--dry-run"});
  EXPECT_EQ(plan.status.code, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("\"epoch_size\""), HasSubstr("obs://bucket-one/assay/"),
                              HasSubstr("\"node_count\": 2"), Not(HasSubstr(kSecret))));
}

TEST_F(CloudRun, IsIncompleteAndNamesTheFileWhenAResultIsMissing) {
  const CommandResult run =
      assay({"run", suite("[ $RANK_ID = 1 ] && exit 0\n" + std::string(kResults))});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_EQ(result()["validity"], "INCOMPLETE");
  EXPECT_THAT(run.err + run.out, HasSubstr("throughput_1.json is missing"));
  EXPECT_FALSE(fs::exists(round() / "train_result_info.json"));
}

TEST_F(CloudRun, NamesTheInstanceThatFailed) {
  const CommandResult run =
      assay({"run", suite("echo no such layer; [ $RANK_ID = 1 ] && exit 7; sleep 600")});
  EXPECT_EQ(run.status.code, 5);
  EXPECT_THAT(run.err + run.out, AllOf(HasSubstr("worker-1"), HasSubstr("exit 7")));
  EXPECT_EQ(log_of(1), "no such layer\n");
}

TEST_F(CloudRun, StopsAJobThatHangs) {
  job_fault({{"kind", "hang"}, {"after_s", 0.1}});
  const CommandResult run = assay(
      {"run", suite("while :; do echo tick; sleep 0.02; done", "", "{time: 60s, stall: 1s}")});
  EXPECT_EQ(run.status.code, 5);
  EXPECT_THAT(run.err + run.out, HasSubstr("wrote nothing for 1.00 s"));
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped);
}

TEST_F(CloudRun, GivesUpAJobThatNeverStartsAndWithdrawsIt) {
  job_fault({{"kind", "never-start"}});
  const CommandResult run = assay({"run", suite(kResults, "    wait: 1s")});
  EXPECT_EQ(run.status.code, 4) << run.err;
  EXPECT_THAT(run.err + run.out, HasSubstr("did not start within 1.00 s"));
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped);
}

TEST_F(CloudRun, RunsAPreemptedJobAgain) {
  retries_ = 1;
  job_fault({{"kind", "preempt"}, {"after_s", 0.1}});
  go();
  const CommandResult run =
      assay({"run", suite("[ -e $GO.$RANK_ID ] || { : > $GO.$RANK_ID; sleep 600; }" +
                          std::string(kResults))});
  EXPECT_EQ(run.status.code, 0) << run.err;
  EXPECT_EQ(jobs_->list("").size(), 2U);
}

TEST_F(CloudRun, SaysWhenAJobWasKilledFromTheConsole) {
  job_fault({{"kind", "kill"}, {"after_s", 0.1}});
  const CommandResult run = assay({"run", suite("sleep 600")});
  EXPECT_EQ(run.status.code, 5);
  EXPECT_THAT(run.err + run.out, HasSubstr("Terminated"));
}

TEST_F(CloudRun, StopsItsJobOnCtrlCWhenAsked) {
  const pid_t pid = start_until(suite(waits_, "    stop_on_interrupt: true"), "started");
  send_signal(pid, SIGINT);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped);
  go();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 2U);
}

// What was trained and paid for is not trained again.
TEST_F(CloudRun, ResumeFetchesTheResultsOfAJobThatHadEndedWhenItWasInterrupted) {
  const std::string file = suite(kResults, "    stop_on_interrupt: true");
  fault({{"kind", "drip"}, {"delay_ms", 1000}, {"path", "throughput"}, {"count", -1}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return said().find("Completed") != std::string::npos; }, 60s))
      << said();
  send_signal(pid, SIGTERM);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), HasSubstr("its results were not fetched"));
  clear_faults();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, StopsAlsoAJobWhoseCreationWasNotAnsweredYet) {
  const std::string file = suite(waits_, "    stop_on_interrupt: true");
  fault({{"kind", "delay"}, {"method", "POST"}, {"path", "/training-jobs"}, {"delay_ms", 60000}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return !jobs_->list("").empty(); }, 30s)) << said();
  send_signal(pid, SIGINT);
  ASSERT_TRUE(wait(pid, 60s)) << said();
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::stopped) << said();
}

TEST_F(CloudRun, SaysThatItsJobGoesOnWhenTheServiceRefusesToTellOfIt) {
  const pid_t pid = start_until(suite(waits_), "started");
  fault({{"kind", "status"}, {"status", 403}, {"method", "GET"}, {"path", "/v2/"}, {"count", -1}});
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 3) << said();
  EXPECT_THAT(said(), HasSubstr("goes on in the cloud"));
  clear_faults();
  go();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
}

TEST_F(CloudRun, LeavesItsJobRunningOnCtrlCAndFollowsItWithResume) {
  const pid_t pid = start_until(suite(waits_), "started");
  send_signal(pid, SIGINT);
  ASSERT_TRUE(wait(pid, 60s)) << said();
  EXPECT_THAT(said(), HasSubstr("goes on in the cloud"));
  EXPECT_EQ(jobs_->list("").at(0).phase, JobPhase::running);
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(jobs_->list("").size(), 1U);
  EXPECT_EQ(log_of(1), "started\non\n");
}

TEST_F(CloudRun, IsResumedAfterItWasKilledWhileItsJobRan) {
  const pid_t pid = start_until(suite(waits_), "started");
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(jobs_->list("").size(), 1U);
  EXPECT_EQ(log_of(0), "started\non\n");
}

TEST_F(CloudRun, IsResumedAfterItWasKilledDuringTheUpload) {
  const std::string file = suite(kResults);
  fault({{"kind", "delay"}, {"method", "PUT"}, {"delay_ms", 60000}, {"count", 1}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return journal_has("round_start"); }, 30s));
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  clear_faults();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, IsResumedAfterItWasKilledBeforeItKnewItsJob) {
  const std::string file = suite(waits_);
  fault({{"kind", "delay"}, {"method", "POST"}, {"path", "/training-jobs"}, {"delay_ms", 60000}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return !jobs_->list("").empty(); }, 30s)) << said();
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  EXPECT_FALSE(journal_has("job_created"));
  clear_faults();
  go();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, IsResumedAfterItWasKilledWhileItFetchedItsResults) {
  const std::string file = suite(kResults);
  fault({{"kind", "delay"},
         {"method", "GET"},
         {"path", "throughput_1.json"},
         {"delay_ms", 60000},
         {"count", 1}});
  const pid_t pid = start({"run", file});
  const auto is_fetching = [&] {
    std::error_code ec;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "results/latest", ec))
      if (entry.path().filename() == "throughput_0.json") return true;
    return false;
  };
  ASSERT_TRUE(eventually(is_fetching, 30s)) << said();
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  clear_faults();
  EXPECT_EQ(assay({"run", "--resume", "results/latest"}).status.code, 0);
  EXPECT_EQ(jobs_->list("").size(), 1U);
  EXPECT_THAT(read_file_or_empty(latest() / "result.json"), HasSubstr("22.0"));  // 10.5 + 11.5
}

TEST_F(CloudRun, GoesOnAfterTheNetworkWasLost) {
  const pid_t pid = start_until(suite(waits_), "started");
  fault({{"kind", "drop-reply"}, {"method", "GET"}, {"count", -1}});
  ASSERT_TRUE(eventually([&] { return said().find("got no answer") != std::string::npos; }, 60s));
  go();
  clear_faults();
  const auto status = wait(pid, 120s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 0) << said();
  EXPECT_EQ(log_of(0), "started\non\n");
}

TEST_F(CloudRun, ADrippingServiceDoesNotHoldItBeyondItsLimits) {
  write_key({{"stall", "1s"}, {"attempts", 1}});
  const pid_t pid = start_until(suite(waits_, "", "{time: 3s, stall: 60s}"), "started");
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 50}, {"count", -1}});
  const auto status = wait(pid, 120s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 3) << said();
  EXPECT_THAT(said(), AllOf(HasSubstr("which is too slow"), HasSubstr("goes on in the cloud"),
                            HasSubstr(emulator_->url().substr(7))));
}

TEST_F(CloudRun, EndsWhenItIsToldToWhileTheServiceDrips) {
  const pid_t pid = start_until(suite(waits_), "started");
  const std::uint64_t before = requests();  // later, the one that drips may be counted already
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 100}, {"count", -1}});
  ASSERT_TRUE(eventually([&] { return requests() > before; }, 30s));
  send_signal(pid, SIGTERM);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), HasSubstr("goes on in the cloud"));
}

TEST_F(CloudRun, EndsWhenItIsToldToWhileTheServiceDripsBeforeTheStart) {
  const std::string file = suite(kResults);
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 200}, {"count", -1}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return requests() > 0; }, 30s)) << said();
  send_signal(pid, SIGTERM);
  ASSERT_TRUE(wait(pid, 60s)) << said();
}

TEST_F(CloudRun, AServiceThatDripsAtTheStartDoesNotHoldItBeyondItsLimits) {
  const std::string file = suite(kResults, "", "{time: 4s, stall: 60s}");
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 200}, {"count", -1}});
  for (const char* command : {"run", "check"}) {
    const CommandResult result = assay({command, file}, 30s);
    EXPECT_EQ(result.status.code, 3) << command << result.out << result.err;
    EXPECT_THAT(result.out + result.err,
                AllOf(HasSubstr(emulator_->url().substr(7) + " has not answered yet"),
                      HasSubstr(emulator_->url().substr(7) + ": GET /bucket-one/ got no answer"),
                      HasSubstr("not answered in 4.00 s")))
        << command;
  }
}

// Each is answered within its own limit.
TEST_F(CloudRun, RequestsThatDripAtTheStartDoNotAddUp) {
  const std::string file = suite(kResults, "    start: 2s");
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 5}, {"count", -1}});
  const CommandResult result = assay({"check", file}, 60s);
  EXPECT_EQ(result.status.code, 3) << result.out << result.err;
  EXPECT_THAT(result.out + result.err,
              AllOf(HasSubstr("within 2.00 s (cluster.modelarts.start)"), HasSubstr("looking at "),
                    HasSubstr(emulator_->url().substr(7)), HasSubstr("--resume")));
}

TEST_F(CloudRun, UploadsThatDripDoNotAddUp) {
  write_key({{"parallel", 1}, {"attempts", 1}});
  const std::string file = suite(kResults, "    start: 3s");
  for (int i = 0; i < 11; ++i) write(fmt::format("code/{}.txt", i), "x");
  // One alone is done within a second or two.
  fault({{"kind", "drip"}, {"method", "PUT"}, {"delay_ms", 5}, {"count", -1}});
  const std::int64_t begin = mono_now_ns();
  const CommandResult result = assay({"run", file}, 120s);
  EXPECT_EQ(result.status.code, 3) << result.out << result.err;
  EXPECT_LT(mono_now_ns() - begin, 40'000'000'000) << "6 s are allowed";
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("uploading the code did not work within 6."),
                    HasSubstr("(cluster.modelarts.start: 3.00 s, and what 12 files of "),
                    HasSubstr("PUT /bucket-one/"), HasSubstr("upload less")));
  clear_faults();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

TEST_F(CloudRun, AServiceThatStaysBusyAtTheStartDoesNotHoldItBeyondIt) {
  const std::string file = suite(kResults, "    start: 3s");
  fault({{"kind", "status"}, {"status", 503}, {"count", -1}});
  const CommandResult run = assay({"run", file}, 120s);
  EXPECT_EQ(run.status.code, 3) << run.out << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("looking at the bucket did not work within 3.00 s"),
                             HasSubstr("503"), HasSubstr("cluster.modelarts.start")));
}

TEST_F(CloudRun, WaitsAtItsStartForAServiceThatIsBusy) {
  const std::string file = suite(kResults);
  fault({{"kind", "status"}, {"status", 503}, {"count", 12}});
  const CommandResult run = assay({"run", file}, 120s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, HasSubstr("looking at the bucket"));
}

TEST_F(CloudRun, AJobThatWasDeletedIsMadeAnewByResume) {
  const pid_t pid = start_until(suite(waits_), "started");
  jobs_->remove(jobs_->list("").at(0).id);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), AllOf(HasSubstr("does not exist any more"), HasSubstr("deleted from outside"),
                            Not(HasSubstr("the node is up"))));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, AJobThatWasDeletedWhileNobodyFollowedItIsMadeAnewAtOnce) {
  const pid_t pid = start_until(suite(waits_), "started");
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  jobs_->remove(jobs_->list("").at(0).id);
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  EXPECT_THAT(resumed.out + resumed.err, HasSubstr("does not exist any more; a new one is made"));
  EXPECT_EQ(jobs_->list("").size(), 1U);
}

TEST_F(CloudRun, NamesTheEnginesThatThereAreBeforeItUploads) {
  const CommandResult run =
      assay({"run", suite(kResults), "--set", "cluster.modelarts.engine=no-such-engine"});
  EXPECT_EQ(run.status.code, 2) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("no-such-engine"), HasSubstr(kEngine)));
  EXPECT_EQ(emulator_->control(client_, "GET", "counts").value("PUT obs", 0), 0);
}

TEST_F(CloudRun, TellsJobsOfTheOldInterfaceTheirEnvironment) {
  v1_ = true;
  const std::string file = suite(
      "echo mode $SINGLESERVER_MODE, $GREETING\n"
      "for a in \"$@\"; do case $a in --train_url=*) out=${a#*=};; esac; done\n"
      "mkdir -p $out/$VC_TASK_INDEX; echo 10 > $out/$VC_TASK_INDEX/throughput_0.json\n"
      "echo 0.5 > $out/accuracy_$VC_TASK_INDEX.json\n",
      "    api: v1\n    single_server: true");
  write("code/ma-pre-start.sh", "export SINGLESERVER_MODE=False\nexport KEPT=1\n");
  const CommandResult run = assay({"run", file, "--set", "cases.fit.env.GREETING=it's here"});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_EQ(log_of(1), "mode True, it's here\n");
  EXPECT_EQ(read_file(folder_ / "code/ma-pre-start.sh"),
            "export SINGLESERVER_MODE=False\nexport KEPT=1\n");
}

TEST_F(CloudRun, RunsAnImageOfOnesOwn) {
  const CommandResult run =
      assay({"run", suite("RANK_ID=$VC_TASK_INDEX; echo \"$@\"" + std::string(kResults)), "--set",
             "cluster.modelarts.engine=image:atelier/mine:1.0"});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(log_of(0), HasSubstr("--epoch_size=3"));
  const Json job = jobs_->list("").at(0).raw["algorithm"];
  EXPECT_EQ(job["engine"]["image_url"], "atelier/mine:1.0");
}

TEST_F(CloudRun, LeavesOutWhatTheFolderIgnores) {
  const std::string file = suite("ls -A" + std::string(kResults));
  write("code/.assayignore", "*.ckpt\n");
  write("code/big.ckpt", "not for the cloud");
  ASSERT_EQ(assay({"run", file}).status.code, 0);
  EXPECT_THAT(log_of(0),
              AllOf(HasSubstr("boot.sh"), Not(HasSubstr("ckpt")), Not(HasSubstr("assayignore"))));
}

TEST_F(CloudRun, AnEmulatorOnAUsedFolderLosesNoResults) {
  ASSERT_EQ(assay({"run", suite(kResults)}).status.code, 0);
  emulator_.reset();
  start_emulator();
  const CommandResult again = assay({"run", suite("echo again" + std::string(kResults))});
  EXPECT_EQ(again.status.code, 0) << again.out << again.err;
  EXPECT_EQ(log_of(0), "again\n");
}

TEST_F(CloudRun, TakesRenewedKeysFromItsFile) {
  const pid_t pid = start_until(suite(waits_), "started");
  IamTokens tokens(client_, {emulator_->url(), "tester", "of the test", "assay", "", kProject});
  const Credentials renewed = TemporaryCredentials(tokens, std::chrono::hours(1)).get();
  write("key.json", Json{{"access_key", renewed.access_key},
                         {"secret_key", renewed.secret_key},
                         {"security_token", renewed.security_token}}
                        .dump());
  // The run still has the first key, until the service calls it expired.
  fault({{"kind", "status"}, {"status", 400}, {"code", "ExpiredToken"}, {"path", "/bucket-one"}});
  go();
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 0) << said();
}

TEST_F(CloudRun, ListsFlavorsAndEngines) {
  const std::string file = suite(kResults);
  const CommandResult flavors = assay({"cloud", "flavors", file});
  EXPECT_EQ(flavors.status.code, 0) << flavors.err;
  EXPECT_THAT(flavors.out, AllOf(HasSubstr("* modelarts.kat1.xlarge"), HasSubstr("BILLED AS")));
  EXPECT_THAT(assay({"cloud", "engines", file}).out, HasSubstr(std::string("* ") + kEngine));
}

TEST_F(CloudRun, ObsCommandsSendListFetchAndRemove) {
  const std::string file = suite(kResults, "    inputs: {data_url: /bucket-one/data/}");
  fs::create_directories(folder_ / "data/train");
  fs::create_directories(folder_ / "data/val");
  write("data/train/a b.bin", "one");
  write("data/val/c.bin", "three");
  write("data/.assayignore", "*.tmp\n");
  write("data/x.tmp", "no");
  const CommandResult sent = assay({"obs", "sync", "data", "--suite", file});
  EXPECT_EQ(sent.status.code, 0) << sent.err;
  EXPECT_THAT(sent.out, HasSubstr("2 uploaded"));
  EXPECT_THAT(assay({"obs", "sync", "data", "--suite", file}).out, HasSubstr("0 uploaded"));
  const CommandResult top = assay({"obs", "ls", "obs://bucket-one/data/", "--suite", file});
  EXPECT_THAT(top.out, AllOf(HasSubstr("data/train/"), Not(HasSubstr("a b.bin"))));
  EXPECT_THAT(assay({"obs", "ls", "-r", "obs://bucket-one/data/", "--suite", file}).out,
              HasSubstr("data/train/a b.bin"));
  const CommandResult back =
      assay({"obs", "sync", "obs://bucket-one/data/", "back", "--suite", file});
  EXPECT_EQ(back.status.code, 0) << back.err;
  EXPECT_EQ(read_file(folder_ / "back/train/a b.bin"), "one");
  EXPECT_EQ(assay({"obs", "cp", "data/val/c.bin", "s3://bucket-one/one/", "--s3", "--endpoint",
                   emulator_->url(), "--credentials", "key.json"})
                .status.code,
            0);
  EXPECT_EQ(
      assay({"obs", "cp", "obs://bucket-one/one/c.bin", "d.bin", "--suite", file}).status.code, 0);
  EXPECT_EQ(read_file(folder_ / "d.bin"), "three");
  EXPECT_EQ(assay({"obs", "rm", "obs://bucket-one", "--suite", file}).status.code, 2);
  EXPECT_THAT(assay({"obs", "rm", "-r", "obs://bucket-one/data/", "--suite", file}).out,
              HasSubstr("2 objects removed"));
  EXPECT_EQ(assay({"obs", "ls", "obs://bucket-one/data/", "--suite", file}).status.code, 3);
}

TEST_F(CloudRun, CheckLooksAtTheCloud) {
  const std::string file = suite(kResults);
  const CommandResult fit = assay({"check", file});
  EXPECT_EQ(fit.status.code, 0) << fit.out << fit.err;
  EXPECT_THAT(fit.out, HasSubstr("modelarts.kat1.xlarge"));
  const CommandResult unfit =
      assay({"check", file, "--set", "cluster.modelarts.flavor=no.such.flavor"});
  EXPECT_EQ(unfit.status.code, 2) << unfit.out;
  EXPECT_THAT(unfit.err, HasSubstr("no.such.flavor"));
}

TEST_F(CloudRun, TransfersEachByteOfALogOnce) {
  const pid_t pid = start_until(suite(waits_), "started");
  go();
  ASSERT_TRUE(wait(pid, 60s));
  std::uint64_t here = log_of(0).size() + log_of(1).size();
  EXPECT_EQ(here, 2 * std::string("started\non\n").size());
  for (const auto& file : fs::directory_iterator(round() / "results")) here += file.file_size();
  EXPECT_EQ(emulator_->control(client_, "GET", "counts")["sent_object_bytes"], here);
}

TEST_F(CloudRun, MakesVersionsOfOneJobWithTheOldInterface) {
  v1_ = true;
  const std::string file = suite("echo rank $RANK_ID" + std::string(kResults), "    api: v1");
  for (int version = 1; version <= 2; ++version) {
    const CommandResult run = assay({"run", file});
    EXPECT_EQ(run.status.code, 0) << run.out << run.err;
    EXPECT_THAT(run.err + run.out, HasSubstr("\"throughput_ratio\" : \"22.0\""));
    EXPECT_EQ(log_of(1), "rank 1\n");
  }
  OldTrainingJobs old(*service_);
  EXPECT_EQ(old.versions(old.find("assay")->job_id).at(0).version_name, "V0002");
}

TEST_F(CloudRun, AJobOfTheOldInterfaceThatWasDeletedIsMadeAnewByResume) {
  v1_ = true;
  const std::string go_file = (folder_ / "go").string();
  const pid_t pid = start_until(
      suite("echo started; while [ ! -e " + go_file + " ]; do sleep 0.02; done; echo on" + kResults,
            "    api: v1"),
      "started");
  OldTrainingJobs old(*service_);
  old.remove(old.find("assay")->job_id);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), HasSubstr("does not exist any more"));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

TEST_F(CloudRun, IsResumedAfterItWasKilledWithTheOldInterface) {
  v1_ = true;
  const std::string go_file = (folder_ / "go").string();
  const pid_t pid = start_until(
      suite("echo started; while [ ! -e " + go_file + " ]; do sleep 0.02; done; echo on" + kResults,
            "    api: v1"),
      "started");
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(log_of(0), "started\non\n");
  OldTrainingJobs old(*service_);
  EXPECT_EQ(old.versions(old.find("assay")->job_id).size(), 1U);
}

TEST_F(CloudRun, NamesTheFlavorsThatThereAre) {
  const CommandResult run =
      assay({"run", suite(kResults), "--set", "cluster.modelarts.flavor=no.such.flavor"});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("no.such.flavor"), HasSubstr("modelarts.kat1.8xlarge")));
}

TEST_F(CloudRun, RefusesAKeyThatOthersCanRead) {
  const std::string file = suite(kResults);
  ::chmod((folder_ / "key.json").c_str(), 0644);
  const CommandResult run = assay({"run", file});
  EXPECT_EQ(run.status.code, 3);
  EXPECT_THAT(run.err, HasSubstr("chmod 600"));
}

TEST_F(CloudRun, WritesItsSecretNowhere) {
  job_fault({{"kind", "fail"}, {"after_s", 0.1}});
  const CommandResult failed = assay({"run", suite("env; sleep 600")});
  EXPECT_EQ(failed.status.code, 5);
  fault({{"kind", "status"}, {"status", 403}, {"code", kSecret}, {"count", 1}});
  const CommandResult refused = assay({"run", suite(kResults)});
  EXPECT_THAT(refused.err, HasSubstr("***"));
  EXPECT_THAT(failed.out + failed.err + refused.out + refused.err, Not(HasSubstr(kSecret)));
  std::size_t searched = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || name == "emulator.json" || name == "key.json") continue;
    ++searched;
    EXPECT_THAT(read_file(entry.path()), Not(HasSubstr(kSecret))) << entry.path();
  }
  EXPECT_GE(searched, 10U);
}

}  // namespace
}  // namespace assay::cloud
