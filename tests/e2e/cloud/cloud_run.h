#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cloud/modelarts.h"
#include "core/files.h"
#include "e2e/cloud/emulator_process.h"
#include "e2e/harness.h"

namespace assay::cloud {

namespace fs = std::filesystem;

inline constexpr const char* kSecret = "emulated-Secret/Key+with=marks";
// Leaves what an ais-bench job leaves.
inline constexpr const char* kResults = R"(
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
    EXPECT_TRUE(e2e::eventually(
        [&] {
          std::error_code ec;
          return fs::exists(folder_ / "results/latest", ec) &&
                 log_of(0).find(word) != std::string::npos &&
                 log_of(1).find(word) != std::string::npos;
        },
        std::chrono::seconds(30)))
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

}  // namespace assay::cloud
