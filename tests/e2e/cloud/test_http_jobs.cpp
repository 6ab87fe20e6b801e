// The launcher `http` against examples/http-jobs/job_service.py, which was written from the
// contract (docs/http-jobs.md) and not from the client. It really runs the jobs. A proxy before it
// has the faults.

#include <csignal>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/text.h"
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

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kSecret = "emulated-Secret/Key+with=marks";
constexpr const char* kToken = "a-token-of-the-test-0123456789";
const fs::path kExample = fs::path(ASSAY_SOURCE_DIR) / "examples/http-jobs";
// Says what a trainer says, and leaves a file.
constexpr const char* kResults = R"(
echo "instance $JOB_INSTANCE of $JOB_INSTANCES: speed $((100 + JOB_INSTANCE)) samples/s"
echo "{\"instance\": $JOB_INSTANCE}" > $JOB_OUTPUT/instance$JOB_INSTANCE.json
)";

class HttpRun : public e2e::AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    ::setenv("AWS_ACCESS_KEY_ID", "AKTEST0000000001", 1);  // of the service
    ::setenv("AWS_SECRET_ACCESS_KEY", kSecret, 1);
    write("token", kToken);
    write_key(kToken);
    store_.emplace(
        folder_,
        Json{{"access_key", "AKTEST0000000001"}, {"secret_key", kSecret}, {"buckets", {"bench"}}});
    start_service();
    proxy_.emplace(
        std::vector<std::string>{kPython, ASSAY_SOURCE_DIR "/tests/e2e/cloud/fault_proxy.py",
                                 "--to", fmt::format("{}", port_), "--faults",
                                 (folder_ / "faults.json").string(), "--record",
                                 (folder_ / "requests").string()},
        folder_ / "proxy.err");
  }
  void TearDown() override {
    if (!service_) start_service();  // it ends its jobs
    service_.reset();
    AssayTest::TearDown();
  }
  void start_service(const std::vector<std::string>& more = {}) {
    std::vector<std::string> argv{kPython,        (kExample / "job_service.py").string(),
                                  "--root",       (folder_ / "service").string(),
                                  "--token-file", (folder_ / "token").string(),
                                  "--store",      store_->url(),
                                  "--port",       fmt::format("{}", port_)};
    argv.insert(argv.end(), more.begin(), more.end());
    service_.emplace(argv, folder_ / "service.err");
    port_ = service_->port();
  }
  void write_key(const std::string& token, const Json& transfer = Json::object()) {
    write("key.json", Json{{"access_key", "AKTEST0000000001"},
                           {"secret_key", kSecret},
                           {"token", token},
                           {"transfer", transfer}}
                          .dump());
    ::chmod((folder_ / "key.json").c_str(), 0600);
  }
  /// Two instances that run `script`, with `$GO` the file "go" of the test's folder.
  std::string suite(const std::string& script, const std::string& more = {},
                    const std::string& limits = "{time: 120s, stall: 120s}") {
    fs::create_directories(folder_ / "code");
    write("code/fit.sh", script);
    write("suite.yaml", fmt::format(R"(name: jobs
vendor: cpu
telemetry: {{enabled: false}}
cluster:
  launcher: http
  retries: {3}
  http:
    endpoint: {0}
    store_endpoint: {1}
    bucket: bench
    code: code
    credentials: key.json
    poll: 50ms
{2}
cases:
  - {{name: fit, model: fit, framework: sh, hardware: none, nodes: 2, procs: 1,
     command: [sh, fit.sh, --epochs=3], env: {{GO: '{4}'}}, limits: {5},
     metrics: {{speed: {{match: 'speed (\d+)', unit: samples/s, better: higher, across: sum}}}}}}
)",
                                    proxy_->url(), store_->url(), more, retries_,
                                    (folder_ / "go").string(), limits));
    return (folder_ / "suite.yaml").string();
  }
  void edit_suite(const std::string& from, const std::string& to) {
    std::string text = read_file(folder_ / "suite.yaml");
    text.replace(text.find(from), from.size(), to);
    write("suite.yaml", text);
  }
  void fault(const Json& fault) { write("faults.json", Json::array({fault}).dump()); }
  void clear_faults() { write("faults.json", "[]"); }
  /// How many requests began so.
  int requests(const std::string& start) const {
    int count = 0;
    const std::string all = read_file_or_empty(folder_ / "requests");
    for (const std::string_view line : split(all, '\n')) count += line.starts_with(start) ? 1 : 0;
    return count;
  }
  Json jobs() {
    Json all = ask("GET", "/v1/jobs");
    return all["jobs"];
  }
  /// The service itself, not through the proxy.
  Json ask(const std::string& method, const std::string& path) {
    http::Request request;
    request.method = method;
    request.origin = fmt::format("http://127.0.0.1:{}", port_);
    request.path = path;
    request.set_header("Authorization", std::string("Bearer ") + kToken);
    return parse_json_or_null(client_.send(request).body);
  }
  std::string log_of(int node) const {
    return read_file_or_empty(folder_ / "results/latest/fit/round1" /
                              fmt::format("worker-{0}_noderank{0}/rank{0}.out.log", node));
  }
  std::string said() const { return read_file_or_empty(folder_ / "assay.log"); }
  bool says(const std::string& text) const { return said().find(text) != std::string::npos; }
  pid_t start_until_started(const std::string& file) {
    const pid_t pid = start({"run", file});
    EXPECT_TRUE(eventually(
        [&] {
          return log_of(0).find("started") != std::string::npos &&
                 log_of(1).find("started") != std::string::npos;
        },
        60s))
        << said();
    return pid;
  }
  void go() { write("go", ""); }
  void ends_well(pid_t pid) {
    const auto status = wait(pid, 120s);
    ASSERT_TRUE(status) << said();
    EXPECT_EQ(status->code, 0) << said();
  }

  int port_ = 0;
  int retries_ = 0;
  std::optional<EmulatorProcess> store_;
  std::optional<ListeningProcess> service_;
  std::optional<ListeningProcess> proxy_;
  http::Client client_;
  const std::string waits_ =
      "echo started; while [ ! -e $GO ]; do sleep 0.05; done; echo on" + std::string(kResults);
};

TEST_F(HttpRun, UploadsRunsMirrorsFetchesAndJudges) {
  const CommandResult run = assay({"run", suite("echo code at $PWD, $1" + std::string(kResults))});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(log_of(0), AllOf(HasSubstr("--epochs=3"), HasSubstr("instance 0 of 2: speed 100")));
  EXPECT_THAT(log_of(1), HasSubstr("instance 1 of 2: speed 101"));
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["metrics"]["speed"]["value"], 201);
  EXPECT_THAT(round["executed"][0]["program"]["path"].get<std::string>(),
              AllOf(HasSubstr("s3://bench/"),
                    HasSubstr(round["executed"][0]["program"]["sha256"].get<std::string>())));
  EXPECT_EQ(read_json(latest() / "fit/round1/results/instance1.json")["instance"], 1);
}

TEST_F(HttpRun, KeysVersionsAndItsOwnResultsAreNotUploaded) {
  const std::string file = suite("find . -type f | sed 's/^/has /'" + std::string(kResults));
  edit_suite("credentials: key.json", "credentials: code/own key");
  fs::create_directories(folder_ / "code/.git");
  write("code/.git/config", "url = https://me:password@git");
  write("code/token", kToken);
  fs::rename(folder_ / "key.json", folder_ / "code/own key");
  std::string program;
  for (int i = 0; i < 2; ++i) {
    const CommandResult run = assay({"run", file, "--out", "code/runs"});
    EXPECT_EQ(run.status.code, 0) << run.out << run.err;
    EXPECT_THAT(run.err + run.out, HasSubstr("not uploaded: own key, token, .git, runs"));
    const std::string log =
        read_file(folder_ / "code/runs/latest/fit/round1/worker-0_noderank0/rank0.out.log");
    EXPECT_THAT(log,
                AllOf(HasSubstr("has ./fit.sh"), Not(HasSubstr("own key")), Not(HasSubstr("token")),
                      Not(HasSubstr(".git")), Not(HasSubstr("runs/"))));
    const Json round = read_json(folder_ / "code/runs/latest/result.json")["cases"][0]["rounds"][0];
    const std::string hash = round["executed"][0]["program"]["sha256"];
    EXPECT_TRUE(program.empty() || program == hash) << program << " " << hash;
    program = hash;
  }
}

TEST_F(HttpRun, AProgramThatIsNotUploadedIsRefused) {
  const std::string file = suite(kResults);
  fs::create_directories(folder_ / "code/build");
  write("code/build/fit.sh", kResults);
  edit_suite("[sh, fit.sh", "[build/fit.sh");
  const CommandResult run = assay({"run", file});
  EXPECT_EQ(run.status.code, 2) << run.out << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("the program 'build/fit.sh' is not uploaded"),
                             HasSubstr("!build/fit.sh")));
}

TEST_F(HttpRun, IsTheExampleThatTheDocumentsShow) {
  const CommandResult run = assay({"run", (kExample / "suite.yaml").string(), "--set",
                                   "cluster.http.endpoint=" + proxy_->url(), "--set",
                                   "cluster.http.store_endpoint=" + store_->url(), "--set",
                                   "cluster.http.credentials=" + (folder_ / "key.json").string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_GT(result()["cases"][0]["rounds"][0]["metrics"]["speed"]["value"], 0);
}

TEST_F(HttpRun, CheckAndDryRunSayWhatTheyWouldDo) {
  const std::string file = suite(kResults);
  const CommandResult check = assay({"check", file});
  EXPECT_EQ(check.status.code, 0) << check.out << check.err;
  EXPECT_THAT(check.out, HasSubstr("job_service.py"));
  fault({{"match", ""}, {"kind", "status"}, {"status", 500}, {"count", -1}});
  const CommandResult plan = assay({"run", file, "--dry-run"});
  EXPECT_EQ(plan.status.code, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("\"instances\": 2"), HasSubstr("s3://bench/assay/"),
                              Not(HasSubstr(kToken)), Not(HasSubstr(kSecret))));
  EXPECT_TRUE(jobs().empty());
}

TEST_F(HttpRun, NamesTheInstanceThatFailed) {
  const CommandResult run =
      assay({"run", suite("echo no such layer; [ $JOB_INSTANCE = 1 ] && exit 7; sleep 600")});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_THAT(run.err + run.out, HasSubstr("instance 1 ended with exit code 7"));
  EXPECT_EQ(log_of(1), "no such layer\n");
}

TEST_F(HttpRun, AWrongTokenIsRefusedBeforeAnythingIsUploaded) {
  const std::string file = suite(kResults);
  write_key("another-token");
  const CommandResult run = assay({"run", file});
  EXPECT_EQ(run.status.code, 3) << run.out << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("401"), HasSubstr("check the credentials"),
                             Not(HasSubstr("another-token"))));
  EXPECT_EQ(store_->control(client_, "GET", "counts").value("PUT obs", 0), 0);
  write_key("");
  EXPECT_THAT(assay({"run", file}).err, HasSubstr("there is no token for the job service"));
}

TEST_F(HttpRun, ATokenThatIsRenewedIsReadAgain) {
  const pid_t pid = start_until_started(suite(waits_));
  write("token", "the-next-token");
  write_key("the-next-token");
  service_->kill();
  start_service();
  go();
  ends_well(pid);
}

TEST_F(HttpRun, ACreationWhoseAnswerIsLostMakesOneJob) {
  fault({{"match", "POST /v1/jobs"}, {"kind", "swallow"}, {"count", 2}});
  const CommandResult run = assay({"run", suite(kResults)}, 120s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_EQ(requests("POST /v1/jobs"), 3);
  EXPECT_EQ(jobs().size(), 1U);
}

TEST_F(HttpRun, WaitsAtItsStartForAServiceThatIsBusy) {
  fault({{"match", ""}, {"kind", "status"}, {"status", 503}, {"count", 12}});
  const CommandResult run = assay({"run", suite(kResults)}, 180s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, HasSubstr("looking at what the service has"));
}

TEST_F(HttpRun, AnswersThatAreGarbageHugeOrCutAreAskedForAgain) {
  const pid_t pid = start_until_started(suite(waits_));
  int seen = 0;
  for (const char* kind : {"garbage", "cut", "huge"}) {
    fault({{"match", "GET /v1/jobs/"}, {"kind", kind}, {"count", 2}, {"number", ++seen}});
    const int before = requests("GET /v1/jobs/");
    EXPECT_TRUE(eventually([&] { return requests("GET /v1/jobs/") >= before + 4; }, 60s))
        << kind << said();
  }
  go();
  ends_well(pid);
  EXPECT_THAT(log_of(0), AllOf(HasSubstr("started\non\n"), Not(HasSubstr("not json"))));
  EXPECT_EQ(jobs().size(), 1U);
}

TEST_F(HttpRun, LogsThatAreNotHandedOutAreMissing) {
  fault({{"match", "GET /v1/jobs/"}, {"has", "/logs/"}, {"kind", "empty"}, {"count", -1}});
  const CommandResult run = assay({"run", suite(kResults)}, 120s);
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_THAT(read_file(folder_ / "results/latest/result.json"),
              HasSubstr("rank0.out.log has 0 bytes, and the job's service says"));
}

TEST_F(HttpRun, AnInstanceThatTheServiceDoesNotTellOfMakesNoNumber) {
  const std::string script = "[ $JOB_INSTANCE = 1 ] && echo speed 1 || echo this is the speed 100";
  fault({{"match", "GET /v1/jobs/"},
         {"kind", "replace"},
         {"from", "\"log_bytes\": 8"},
         {"to", "\"another\": 8"},
         {"count", -1}});
  const CommandResult run = assay({"run", suite(script)}, 120s);
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, HasSubstr("says nothing of a log of worker-1"));
  clear_faults();
  const CommandResult again = assay({"run", "--resume", "results/latest", "--failed"}, 120s);
  EXPECT_EQ(again.status.code, 0) << again.out << again.err;
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["metrics"]["speed"]["value"], 101);
}

TEST_F(HttpRun, AServiceThatDoesNotSayWhenItsJobRanIsNamedWithTheFieldThatIsMissing) {
  fault({{"match", ""},
         {"kind", "replace"},
         {"from", "\"started_ms\""},
         {"to", "\"begun_ms\""},
         {"count", -1}});
  const CommandResult run = assay({"run", suite(kResults)}, 120s);
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, AllOf(HasSubstr("does not say when"), HasSubstr("no started_ms"),
                                       HasSubstr(proxy_->url()), Not(HasSubstr("never started"))));
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "unrecorded");
}

TEST_F(HttpRun, OfAServiceThatDoesNotSayWhenItsJobEndedTheTimeIsAnEstimate) {
  fault({{"match", ""},
         {"kind", "replace"},
         {"from", "\"ended_ms\""},
         {"to", "\"done_ms\""},
         {"count", -1}});
  const CommandResult run = assay({"run", suite(kResults)}, 120s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  const Json time = result()["cases"][0]["rounds"][0]["metrics"]["e2e_time"];
  EXPECT_EQ(time["origin"], "estimated") << time.dump();
  EXPECT_THAT(time["note"].get<std::string>(), HasSubstr("the service told no times"));
}

TEST_F(HttpRun, ALogThatBeganAgainStaysWholeWhenAssayIsKilled) {
  // Appending, so that what the test writes into the log is the beginning of another.
  const pid_t pid = start_until_started(suite("exec >>/dev/stdout; " + waits_));
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "service"))
    if (entry.path().filename() == "log") std::ofstream(entry.path()) << "new\n";
  ASSERT_TRUE(eventually([&] { return log_of(0) == "started\nnew\n"; }, 60s)) << log_of(0);
  ASSERT_TRUE(eventually([&] { return log_of(1) == "started\nnew\n"; }, 60s)) << log_of(1);
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"}, 120s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  EXPECT_THAT(log_of(0), ::testing::StartsWith("started\nnew\non\n"));
}

// As of a service of several servers, one of which has not heard yet.
TEST_F(HttpRun, AnAnswerThatIsOlderThanTheOneBeforeDoublesNoLog) {
  const pid_t pid = start_until_started(suite(waits_));
  const int before = requests("GET /v1/jobs/");
  fault({{"match", "GET /v1/jobs/"},
         {"kind", "replace"},
         {"from", "\"log_bytes\": 8"},
         {"to", "\"log_bytes\": 3"},
         {"count", 6}});
  ASSERT_TRUE(eventually([&] { return requests("GET /v1/jobs/") > before + 12; }, 60s));
  go();
  ends_well(pid);
  EXPECT_THAT(log_of(0), ::testing::StartsWith("started\non\n"));
  EXPECT_EQ(read_file(folder_ / "results/latest/journal.jsonl").find("began again"),
            std::string::npos);
}

TEST_F(HttpRun, WhatAServiceSaysOfAJobIsCutAndHarmless) {
  fault({{"match", "GET /v1/jobs/"},
         {"kind", "replace"},
         {"from", "\"message\": \"instance"},
         {"to", "\"message\": \"\\u001b[2Jinstance " + std::string(1 << 20, 'x')},
         {"count", -1}});
  const CommandResult run = assay({"run", suite("exit 7")}, 120s);
  EXPECT_EQ(run.status.code, 5) << run.err.substr(0, 1000);
  EXPECT_LT(run.out.size() + run.err.size(), 20'000U);
  EXPECT_LT(fs::file_size(folder_ / "results/latest/journal.jsonl"), 100'000U);
  EXPECT_EQ((run.out + run.err).find("\x1b[2J"), std::string::npos);
}

TEST_F(HttpRun, AJobOfAnotherKeyIsAnErrorOfTheService) {
  fault({{"match", "GET /v1/jobs/"},
         {"kind", "replace"},
         {"from", "-c0-r1"},
         {"to", "-c0-r7"},
         {"count", -1}});
  const CommandResult run = assay({"run", suite(kResults)}, 120s);
  EXPECT_EQ(run.status.code, 3) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("answers with a job of the key"));
}

TEST_F(HttpRun, ALogThatIsLongerThanTheJobIsInvalid) {
  const CommandResult run = assay({"run", suite(R"(
for t in 0 99000; do
  echo "[PerfLog] {\"event\": \"STEP_END\", \"step\": 1, \"metadata\": {\"rank\": 0, \"time_ms\": $(($(date +%s) * 1000 + t)), \"mono_us\": $((t * 1000 + 1))}}"
done
echo "speed 7 samples/s"
)")},
                                  120s);
  EXPECT_EQ(run.status.code, 6) << run.out << run.err;
  EXPECT_THAT(read_file(folder_ / "results/latest/result.json"),
              HasSubstr("is 99.000 s later than line 1, but"));
}

TEST_F(HttpRun, ADrippingServiceDoesNotHoldItBeyondItsLimits) {
  write_key(kToken, {{"stall", "1s"}, {"attempts", 1}});
  const pid_t pid = start_until_started(suite(waits_, "", "{time: 3s, stall: 60s}"));
  fault({{"match", ""}, {"kind", "drip"}, {"delay_ms", 1000}, {"count", -1}});
  const auto status = wait(pid, 180s);
  ASSERT_TRUE(status) << said();
  EXPECT_THAT(status->code, ::testing::AnyOf(3, 5)) << said();
  EXPECT_THAT(said(), HasSubstr("which is too slow"));
}

TEST_F(HttpRun, GoesOnWhenTheServiceWasGoneAndIsBack) {
  const pid_t pid = start_until_started(suite(waits_));
  service_->kill();
  service_.reset();
  ASSERT_TRUE(eventually([&] { return says("asking about job"); }, 90s)) << said();
  go();
  start_service();
  ends_well(pid);
  EXPECT_THAT(log_of(0), HasSubstr("started\non\n"));
}

TEST_F(HttpRun, AJobThatWasDeletedIsMadeAnewByResume) {
  const pid_t pid = start_until_started(suite(waits_));
  (void)ask("DELETE", "/v1/jobs/" + jobs().at(0)["id"].get<std::string>());
  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), HasSubstr("does not exist any more"));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"}, 120s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
}

TEST_F(HttpRun, IsResumedAfterItWasKilledAndMakesNoSecondJob) {
  const pid_t pid = start_until_started(suite(waits_));
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 60s));
  go();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"}, 120s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_EQ(jobs().size(), 1U);
  EXPECT_THAT(log_of(0), HasSubstr("started\non\n"));
}

TEST_F(HttpRun, LeavesItsJobRunningOnCtrlCOrStopsItWhenAsked) {
  pid_t pid = start_until_started(suite(waits_));
  send_signal(pid, SIGINT);
  ASSERT_TRUE(wait(pid, 60s)) << said();
  EXPECT_THAT(said(), HasSubstr("follow it again with --resume"));
  EXPECT_EQ(jobs().at(0)["state"], "running");
  fs::remove_all(folder_ / "results");
  pid = start_until_started(suite(waits_, "    stop_on_interrupt: true"));
  send_signal(pid, SIGINT);
  ASSERT_TRUE(wait(pid, 90s)) << said();
  int stopped = 0;
  for (const Json& job : jobs()) stopped += job["state"] == "stopped" ? 1 : 0;
  EXPECT_EQ(stopped, 1) << jobs().dump();
}

TEST_F(HttpRun, ARunnerThatWasKilledIsLostAndRunAgain) {
  retries_ = 1;
  const pid_t pid = start_until_started(suite(waits_));
  for (const pid_t runner : e2e::processes_with("job_service.py --run")) {
    const std::string line =
        read_file_or_empty(fmt::format("/proc/{}/cmdline", runner));  // of this test alone
    if (line.find(folder_.string()) != std::string::npos) send_signal(runner, SIGKILL);
  }
  ASSERT_TRUE(eventually([&] { return jobs().size() == 2; }, 90s)) << said();
  go();
  ends_well(pid);
  EXPECT_THAT(said(), HasSubstr("lost"));
}

TEST_F(HttpRun, AClockThatIsTenMinutesOffMakesNoOddTimes) {
  service_.reset();
  start_service({"--clock-offset", "600"});
  const CommandResult run = assay({"run", suite("sleep 0.5" + std::string(kResults))});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json job = jobs().at(0);
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  EXPECT_DOUBLE_EQ(metrics["e2e_time"]["value"],
                   (job["ended_ms"].get<double>() - job["started_ms"].get<double>()) / 1000);
  EXPECT_LT(metrics["launch_time"]["value"], 300);
}

TEST_F(HttpRun, WritesItsSecretsNowhere) {
  const CommandResult failed = assay({"run", suite("env; exit 3")});
  EXPECT_EQ(failed.status.code, 5);
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "results")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(read_file(entry.path()), AllOf(Not(HasSubstr(kSecret)), Not(HasSubstr(kToken))))
        << entry.path();
  }
}

TEST_F(HttpRun, TopShowsTheJobAndItsStepsWhileItRuns) {
  const std::string file = suite(R"(
echo '[PerfLog] {"event": "STEP_END", "value": {"loss": 0.5}, "step": 41}'
until [ -e $GO ]; do sleep 0.1; done
)");
  const pid_t pid = start({"run", file});
  std::string shown;
  const bool live = eventually(
      [&] {
        shown = assay({"top", "--once", "results/latest"}).out;
        return shown.find("worker-1") != std::string::npos && shown.find("41") != std::string::npos;
      },
      60s);
  EXPECT_TRUE(live) << shown << said();
  EXPECT_THAT(shown, AllOf(HasSubstr("running for "), HasSubstr("job "), HasSubstr("0.5")));
  write("go", "");
  EXPECT_TRUE(wait(pid, 60s)) << said();
}

TEST_F(HttpRun, ObsCommandsTakeItsSuites) {
  const std::string file = suite(kResults);
  fs::create_directories(folder_ / "data");
  write("data/a.bin", "one");
  const CommandResult sent = assay({"obs", "sync", "data", "s3://bench/data/", "--suite", file});
  EXPECT_EQ(sent.status.code, 0) << sent.err;
  EXPECT_THAT(sent.out, HasSubstr("1 uploaded"));
  EXPECT_THAT(assay({"obs", "ls", "s3://bench/data/", "--suite", file}).out,
              HasSubstr("data/a.bin"));
  const CommandResult where = assay({"obs", "sync", "data", "--suite", file});
  EXPECT_EQ(where.status.code, 2);
  EXPECT_THAT(where.err, HasSubstr("give s3://BUCKET/FOLDER/"));
}

}  // namespace
}  // namespace assay::cloud
