// The cost of the harness itself: time from `assay run` to the first rank's exec, CPU time and
// memory of the sampling agent, and 512 ranks on one machine. Prints one line per measurement.
// CLOCK_MONOTONIC here and in the agent's stamps is the same clock of the same machine.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "core/files.h"
#include "core/json.h"
#include "core/scratch_folder.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"

namespace {

namespace fs = std::filesystem;
using assay::Json;
using namespace std::chrono_literals;

class Bench {
 public:
  explicit Bench(fs::path assay) : assay_(std::move(assay)) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Runs the suite and returns the journal's events.
  std::vector<Json> run(const std::string& suite, int expected = 0) {
    std::ofstream(folder_.path() / "suite.yaml") << suite;
    assay::CommandOptions options;
    options.timeout = std::chrono::minutes(5);
    started_ns = assay::mono_now_ns();
    const assay::CommandResult result =
        assay::run_command({assay_.string(), "run", (folder_.path() / "suite.yaml").string(),
                            "--out", (folder_.path() / "results").string()},
                           options);
    ended_ns = assay::mono_now_ns();
    if (result.status.code != expected) {
      fmt::print(stderr, "assay run gave {}\n{}{}", to_string(result.status), result.out,
                 result.err);
      std::exit(1);
    }
    std::vector<Json> events;
    const std::string journal = assay::read_file(folder_.path() / "results/latest/journal.jsonl");
    for (const std::string_view line : assay::split(journal, '\n'))
      if (!line.empty()) events.push_back(Json::parse(line));
    return events;
  }
  [[nodiscard]] Json result() const {
    return Json::parse(assay::read_file(folder_.path() / "results/latest/result.json"));
  }

  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;

 private:
  fs::path assay_;
  const assay::ScratchFolder folder_{"assay-bench"};
};

const Json& first(const std::vector<Json>& events, const std::string& name) {
  return *std::ranges::find_if(events, [&](const Json& event) { return event["event"] == name; });
}

double ms(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

void launch_latency(Bench& bench) {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    const auto events = bench.run("name: latency\ncases:\n  - {name: t, command: [/bin/true]}\n");
    times.push_back(
        ms(first(events, "rank_start")["mono_ns"].get<std::int64_t>() - bench.started_ns));
  }
  std::ranges::sort(times);
  fmt::print(
      "assay run → first rank's exec: median {:.1f} ms, worst {:.1f} ms of {} runs (goal < 150 "
      "ms)\n",
      times[times.size() / 2], times.back(), times.size());
}

void agent_cost(Bench& bench, const std::string& interval, double seconds, double goal_percent) {
  const auto events =
      bench.run(fmt::format("name: cost\ntelemetry: {{interval: {}}}\ncases:\n  - {{name: idle, "
                            "command: [sleep, '{}']}}\n",
                            interval, seconds));
  const Json& end = first(events, "node_end");
  fmt::print(
      "agent, telemetry every {}: {:.3f} % of one core over {:.0f} s (goal < {} %), peak memory "
      "{:.1f} MB (goal < 10 MB)\n",
      interval, 100 * end["agent_cpu_s"].get<double>() / seconds, seconds, goal_percent,
      end["agent_rss_bytes"].get<double>() / 1e6);
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int free_port() {
  const assay::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd.get(), generic, length) != 0 || ::getsockname(fd.get(), generic, &length) != 0)
    throw std::runtime_error("there is no free port");
  return ntohs(address.sin_port);
}

// Scrapes once; returns whether there was an answer.
bool scrape(int port) {
  const assay::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{2, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const sockaddr_in address = loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return false;
  constexpr std::string_view request = "GET /metrics HTTP/1.1\r\n\r\n";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
  std::array<char, 65536> page{};
  std::size_t bytes = 0;
  for (ssize_t n = 1; n > 0; bytes += static_cast<std::size_t>(n))
    if (n = ::recv(fd.get(), page.data(), page.size(), 0); n < 0) return false;
  return bytes > 0;
}

// The same while somebody reads the metrics: once a second, as Prometheus does, or without a pause.
void agent_cost_scraped(Bench& bench, double seconds, std::chrono::milliseconds pause) {
  const int port = free_port();
  std::atomic<int> answers = 0;
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const bool answered = scrape(port);
      answers += answered ? 1 : 0;
      std::this_thread::sleep_for(answered ? pause : std::max(pause, 10ms));
    }
  });
  const auto events = bench.run(fmt::format(
      "name: cost\ntelemetry: {{interval: 1s, prometheus: {{listen: '127.0.0.1:{}'}}}}\ncases:\n"
      "  - {{name: idle, command: [sleep, '{}']}}\n",
      port, seconds));
  reader.request_stop();
  reader.join();
  const Json& end = first(events, "node_end");
  fmt::print(
      "agent, telemetry every 1s, metrics read {} times ({}): {:.3f} % of one core over {:.0f} s, "
      "peak memory {:.1f} MB\n",
      answers.load(), pause.count() > 0 ? "once a second" : "without a pause",
      100 * end["agent_cpu_s"].get<double>() / seconds, seconds,
      end["agent_rss_bytes"].get<double>() / 1e6);
}

void many_ranks(Bench& bench, int ranks) {
  const auto events =
      bench.run(fmt::format("name: many\ncases:\n  - case: null:native:cpu:1:{}:1\n    config: "
                            "{{steps: 50, step_ms: 200}}\n",
                            ranks));
  std::int64_t first_start = INT64_MAX;
  std::int64_t last_start = 0;
  std::int64_t end = 0;
  int ok = 0;
  for (const Json& event : events) {
    const auto at = event["mono_ns"].get<std::int64_t>();
    if (event["event"] == "rank_start") {
      first_start = std::min(first_start, at);
      last_start = std::max(last_start, at);
    }
    if (event["event"] == "rank_exit" && event.value("code", -1) == 0) ++ok;
    if (event["event"] == "run_end") end = at;
  }
  std::int64_t steps = 0;
  const Json judged = bench.result();
  for (const Json& rank : judged["cases"][0]["rounds"][0]["ranks"])
    steps += rank["steps"].get<std::int64_t>();
  fmt::print(
      "{} ranks: started in {:.0f} ms, {} ended with 0, {} of {} steps judged, {:.0f} ms from the "
      "end of the run to the reports\n",
      ranks, ms(last_start - first_start), ok, steps, ranks * 50, ms(bench.ended_ns - end));
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path assay =
      argc > 1 ? fs::path(argv[1]) : fs::read_symlink("/proc/self/exe").parent_path() / "assay";
  try {
    Bench bench(assay);
    launch_latency(bench);
    agent_cost(bench, "1s", 30, 0.2);
    agent_cost(bench, "0.1s", 20, 1);
    agent_cost_scraped(bench, 20, 1s);
    agent_cost_scraped(bench, 10, 0ms);
    many_ranks(bench, 512);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_harness: {}\n", error.what());
    return 1;
  }
  return 0;
}
