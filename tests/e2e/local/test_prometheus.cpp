// A real Prometheus reads the agents of real runs.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "core/time.h"
#include "e2e/harness.h"
#include "http/client.h"
#include "needs.h"
#include "send_signal.h"
#include "telemetry/telemetry_table.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

namespace {

/// Listens on a port of the loopback that was free, so that nobody else gets it meanwhile.
class HeldPort {
 public:
  HeldPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), generic, length), 0);
    EXPECT_EQ(::listen(fd_.get(), 1), 0);
    EXPECT_EQ(::getsockname(fd_.get(), generic, &length), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& address() const { return address_; }
  void release() { fd_.reset(); }

 private:
  UniqueFd fd_;
  std::string address_;
};

bool on_path(const std::string& program) {
  return run_command({"/bin/sh", "-c", "command -v " + program}, {}).status.ok();
}

http::Response get(const std::string& address, const std::string& path, http::Query query = {}) {
  http::ClientOptions options;
  options.retry.attempts = 1;
  options.proxy = "";
  http::Client client(options);
  http::Request request;
  request.origin = "http://" + address;
  request.path = path;
  request.query = std::move(query);
  return client.send(request);
}

bool answers(const std::string& address, const std::string& path) {
  try {
    return get(address, path).ok();
  } catch (const Error&) {
    return false;
  }
}

struct Sample {
  double t = 0;
  double value = 0;
};
struct Found {
  Json labels;
  std::vector<Sample> samples;
};

}  // namespace

class PrometheusTest : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    ::unsetenv("http_proxy");
    ::unsetenv("HTTP_PROXY");
  }
  void TearDown() override {
    if (server_ > 0) {
      send_signal(server_, SIGKILL);
      ::waitpid(server_, nullptr, 0);
    }
    AssayTest::TearDown();
  }

  void start_prometheus(const fs::path& config) {
    HeldPort port;
    web_ = port.address();
    const std::vector<std::string> words{
        "prometheus",
        "--config.file=" + config.string(),
        "--storage.tsdb.path=" + (folder_ / "tsdb").string(),
        "--web.listen-address=" + web_,
    };
    port.release();
    server_ = spawn({.argv = words,
                     .out = Stream::append(folder_ / "prometheus.log", 0644),
                     .err = Stream::output(),
                     .group = Group::shared})
                  .release();
    ASSERT_TRUE(eventually([&] { return answers(web_, "/-/ready"); }, 60s))
        << read_file_or_empty(folder_ / "prometheus.log");
  }

  /// Every series that `expression` gives at `time`; a failure of the test when it is refused.
  [[nodiscard]] std::vector<Found> query(const std::string& expression,
                                         std::optional<double> time = {}) const {
    http::Query parameters{{"query", expression}};
    if (time) parameters.emplace_back("time", std::to_string(*time));
    const http::Response response = get(web_, "/api/v1/query", parameters);
    const Json json = Json::parse(response.body);
    EXPECT_EQ(json["status"], "success") << expression << ": " << response.body;
    std::vector<Found> found;
    if (json["status"] != "success") return found;
    const Json& list = json["data"]["result"];
    for (const Json& series : list) {
      Found& to = found.emplace_back();
      to.labels = series["metric"];
      const Json values =
          series.contains("values") ? series["values"] : Json::array({series["value"]});
      for (const Json& pair : values)
        to.samples.push_back({pair[0].get<double>(), std::stod(pair[1].get<std::string>())});
    }
    return found;
  }

  /// All samples of the one series of a metric.
  [[nodiscard]] std::vector<Sample> recorded(const std::string& selector) const {
    const std::vector<Found> found = query(selector + "[1h]");
    EXPECT_EQ(found.size(), 1U) << selector;
    return found.empty() ? std::vector<Sample>{} : found[0].samples;
  }

  std::string web_;
  pid_t server_ = -1;
};

// Lines of every kind that a dashboard shows, and a trial of an AutoML worker.
constexpr const char* kTrainer =
    "i=0\n"
    "while [ $i -lt 40 ]; do i=$((i+1))\n"
    "echo '[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": 0.5, \"samples\": 8}, '"
    "\"\\\"step\\\": $i, \\\"trial\\\": $((i/10))}\"\n"
    "echo '[PerfLog] {\"event\": \"EVALUATE\", \"value\": {\"eval_acc1\": 0.75}}'\n"
    "echo '[PerfLog] {\"event\": \"EPOCH_END\"}'\n"
    "sleep 0.15\n"
    "done\n";

TEST_F(PrometheusTest, RecordsWhatTheRunMeasuresAndFeedsEveryPanelOfTheDashboard) {
  if (!on_path("prometheus") || !on_path("promtool")) GTEST_SKIP() << needs::package("prometheus");
  // Two devices, so that there is power on any machine.
  write("nvml.txt", "devices 2\n* util 35\n0 power 57120\n1 power 60000\n* energy 1000 2000\n");
  ::setenv("ASSAY_NVML_LIBRARY", ASSAY_BIN_DIR "/libfake_nvml.so", 1);
  ::setenv("FAKE_NVML_SCRIPT", (folder_ / "nvml.txt").c_str(), 1);
  write("trainer.sh", kTrainer);
  HeldPort metrics;
  const fs::path suite = write("live.yaml",
                               "name: live\n"
                               "vendor: nvidia\n"
                               "telemetry: {interval: 500ms, prometheus: {listen: \"" +
                                   metrics.address() +
                                   "\"}}\n"
                                   "cases:\n"
                                   "  - name: steady\n"
                                   "    case: null:native:cpu:1:2:1\n"
                                   "    config: {steps: 1000, step_ms: 10}\n"
                                   "  - name: trials\n"
                                   "    command: [/bin/sh, " +
                                   (folder_ / "trainer.sh").string() + "]\n");
  ASSERT_EQ(assay({"prometheus", suite.string(), "--output", "monitoring"}).status.code, 0);
  const fs::path config = folder_ / "monitoring/prometheus.yml";
  const CommandResult checked = run_command({"promtool", "check", "config", config.string()}, {});
  EXPECT_TRUE(checked.status.ok()) << checked.out << checked.err;
  start_prometheus(config);

  metrics.release();
  const pid_t run = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return answers(metrics.address(), "/metrics"); }, 30s));
  write("page.txt", get(metrics.address(), "/metrics").body);
  const CommandResult linted = run_command(
      {"/bin/sh", "-c", "promtool check metrics < " + (folder_ / "page.txt").string()}, {});
  EXPECT_TRUE(linted.status.ok()) << linted.out << linted.err;
  const auto status = wait(run, 120s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file_or_empty(folder_ / "assay.log");

  // Throughput: samples over the time between the first and the last that Prometheus saw.
  const Json cases = result()["cases"];
  double throughput = 0;
  std::vector<Sample> steps;
  for (const char* rank : {"0", "1"}) {
    const std::string selector = std::string("{case=\"steady\",rank=\"") + rank + "\"}";
    const std::vector<Sample> seen = recorded("assay_rank_samples_total" + selector);
    ASSERT_GE(seen.size(), 4U);
    throughput += (seen.back().value - seen.front().value) / (seen.back().t - seen.front().t);
    EXPECT_LE(seen.back().value, 1000 * 32);
    if (steps.empty()) steps = recorded("assay_rank_steps_total" + selector);
  }
  const double measured = cases[0]["rounds"][0]["metrics"]["p_whole"]["value"];
  EXPECT_NEAR(throughput, measured, 0.15 * measured);

  // Telemetry: every sample is a row of the table.
  const auto node = *fs::directory_iterator(latest() / "steady/round1");
  const telemetry::Table table = telemetry::read_table(node.path() / "telemetry.csv");
  const auto expect_rows = [&](const std::string& selector, const std::string& source,
                               telemetry::Column column, double slack) {
    const std::vector<Sample> seen = recorded(selector);
    EXPECT_GE(seen.size(), 3U) << selector;
    for (const Sample& sample : seen)
      EXPECT_TRUE(std::ranges::any_of(table.rows,
                                      [&](const telemetry::Row& row) {
                                        return table.sources[row.source] == source &&
                                               std::abs(row[column] - sample.value) <= slack;
                                      }))
          << selector << ": " << sample.value;
  };
  expect_rows("assay_cpu_utilization_ratio{case=\"steady\"}", "node", telemetry::Column::util,
              6e-5);
  expect_rows("assay_memory_used_bytes{case=\"steady\"}", "node", telemetry::Column::mem_used_bytes,
              1);
  expect_rows("assay_device_power_watts{case=\"steady\",device=\"1\"}", "dev1",
              telemetry::Column::power_w, 1e-3);
  // Both devices, and the packages where their counters can be read.
  const std::vector<Sample> power = recorded("assay_node_power_watts{case=\"steady\"}");
  ASSERT_FALSE(power.empty());
  EXPECT_GE(power.back().value, 57.12 + 60 - 1e-6);

  // The dashboard: at a moment of each case.
  const Json dashboard = read_json(folder_ / "monitoring/grafana-dashboard.json");
  const std::vector<Sample> trials =
      recorded("assay_automl_trials_total{case=\"trials\",rank=\"0\"}");
  ASSERT_GE(trials.size(), 3U);
  // What only machines with readable energy counters have.
  const std::set<std::string> not_everywhere{"assay_power_watts", "assay_energy_joules_total"};
  int evaluated = 0;
  const Json& panels = dashboard["panels"];
  for (const Json& panel : panels) {
    if (panel["type"] == "row") continue;
    const Json& targets = panel["targets"];
    for (const Json& target : targets) {
      std::string expression = target["expr"];
      for (const auto& [name, value] :
           {std::pair{"$__rate_interval", "5s"}, {"$case", ".*"}, {"$host", ".*"}})
        for (auto at = expression.find(name); at != std::string::npos; at = expression.find(name))
          expression.replace(at, std::string(name).size(), value);
      const std::size_t found =
          query(expression, steps.back().t).size() + query(expression, trials.back().t).size();
      ++evaluated;
      if (not_everywhere.contains(expression.substr(0, expression.find('{')))) continue;
      EXPECT_GT(found, 0U) << panel["title"] << ": " << expression;
    }
  }
  EXPECT_GT(evaluated, 25);
  EXPECT_EQ(query("max_over_time(assay_rank_best_accuracy[1h])")[0].samples[0].value, 0.75);
}

TEST_F(PrometheusTest, APortThatIsTakenIsAWarningAndTheRoundIsAsGood) {
  HeldPort taken;
  const fs::path suite = write("taken.yaml",
                               "name: taken\n"
                               "telemetry: {prometheus: {listen: \"" +
                                   taken.address() +
                                   "\"}}\n"
                                   "cases:\n"
                                   "  - case: null:native:cpu:1:1:1\n"
                                   "    config: {steps: 20, step_ms: 10}\n"
                                   "    rules: {min-duration: off}\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  const Json findings = result()["cases"][0]["rounds"][0]["findings"];
  const auto warned = std::ranges::find_if(
      findings, [](const Json& finding) { return finding["rule"] == "metrics-offered"; });
  ASSERT_NE(warned, findings.end()) << findings.dump();
  EXPECT_THAT((*warned)["reason"].get<std::string>(), HasSubstr("Address already in use"));
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["validity"], "VALID");
}

TEST_F(PrometheusTest, MetricsThatOthersCanReadAreAWarning) {
  HeldPort port;
  const auto suite = [&](const std::string& address) {
    return write("open.yaml", "name: open\ntelemetry: {prometheus: {listen: \"" + address +
                                  "\"}}\n" + "cases: [{name: t, command: [/bin/true]}]\n")
        .string();
  };
  const std::string number = port.address().substr(port.address().rfind(':'));
  port.release();
  const CommandResult open = assay({"run", suite("0.0.0.0" + number)});
  EXPECT_THAT(open.out + open.err, HasSubstr("can read the run's metrics"));
  const CommandResult closed = assay({"run", suite("127.0.0.1" + number)});
  EXPECT_THAT(closed.out + closed.err, ::testing::Not(HasSubstr("can read the run's metrics")));
}

TEST_F(PrometheusTest, ASuiteWithoutMetricsOrWithRemoteLoopbacksIsSaid) {
  const fs::path none = write("none.yaml", "name: none\ncases: [null:native:cpu:1:1:1]\n");
  const CommandResult refused = assay({"prometheus", none.string()});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("offer no metrics"));
  const fs::path remote =
      write("remote.yaml",
            "name: remote\n"
            "telemetry: {prometheus: {}}\n"
            "cluster: {launcher: ssh, hosts: [n1, {name: n2, address: 10.0.0.2}]}\n"
            "cases: [null:native:cpu:2:1:1]\n");
  const CommandResult warned = assay({"prometheus", remote.string(), "-o", "m"});
  EXPECT_EQ(warned.status.code, 0) << warned.err;
  EXPECT_THAT(warned.err, HasSubstr("listen on the loopback"));
  const std::string config = read_file(folder_ / "m/prometheus.yml");
  EXPECT_THAT(config, HasSubstr("\"n1:9400\""));
  EXPECT_THAT(config, HasSubstr("\"10.0.0.2:9400\""));
  EXPECT_THAT(config, HasSubstr("scrape_interval: 1s"));
}

}  // namespace assay::e2e
