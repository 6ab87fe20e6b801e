// The cost of the platform's server, measured from outside: a separate process with 100,000
// finished jobs and 1,000 nodes answers 50 clients, and feeds 500 streams of a run's metrics.
//
//   bench_serve [--jobs N] [--clients N] [--streams N] [--seconds S]
//
// Clients request the data of every page in turn, once as fast as they can (which shows the most
// that the server can answer on this machine, clients included) and once like people's pages, with
// one request per second each.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accounts/accounts.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/scratch_folder.h"
#include "core/text.h"
#include "core/time.h"
#include "database/database.h"
#include "engine/engine.h"
#include "jobs/job_store.h"
#include "rest/open_streams.h"
#include "site/server.h"
#include "store/run_dir.h"
#include "web/files.h"

namespace {

using namespace assay;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// 1,000 nodes that are asked for nothing.
class StillEngine : public engine::Engine {
 public:
  [[nodiscard]] engine::Traits traits() const override { return {.name = "still"}; }
  void report_to(Reporter /*reporter*/) override {}
  [[nodiscard]] std::vector<jobs::ClusterNode> nodes() override {
    std::vector<jobs::ClusterNode> out;
    for (int i = 0; i < 1000; ++i)
      out.push_back({fmt::format("node{:03}", i), i % 4 == 0 ? "A100" : "H200", 8, true});
    return out;
  }
  void start(const engine::Order& /*order*/) override {}
  void stop(const engine::Execution& /*execution*/, Nanoseconds /*grace*/) override {}
  void recall(const std::vector<engine::Order>& /*orders*/) override {}
};

/// Bypasses the store's own calls, which take a transaction per job. Job 1 is running, on the given
/// run directory; the others have ended.
void fill(const fs::path& data, int jobs_wanted) {
  jobs::JobStore store(data / "jobs.db");
  jobs::NewJob job;
  job.submission.name = "resnet-50 of an engineer";
  job.submission.command = std::string(300, 'x');
  job.owner = "admin";
  job.team = "vision";
  const auto event = [&](jobs::EventKind kind) {
    jobs::Event out;
    out.kind = kind;
    out.attempt = 1;
    out.placement = {{"node001", 1}};
    (void)store.apply(1, out, wall_now_ns());
  };
  (void)store.submit(job, wall_now_ns());
  event(jobs::EventKind::placed);
  event(jobs::EventKind::started);
  const jobs::JobId ended = store.submit(job, 1).at(0);
  jobs::Event kill;
  kill.kind = jobs::EventKind::kill_asked;
  (void)store.apply(ended, kill, 2);
  database::Database raw(data / "jobs.db");
  raw.execute(fmt::format(R"(BEGIN;
WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i <= {})
INSERT INTO jobs SELECT i, name || ' ' || i, 'user' || (i % 500), 'team' || (i % 20), queue,
  i % 200, CASE i % 7 WHEN 0 THEN 'failed' ELSE 'finished' END, i % 64, 'H200', 'VALID',
  i * 1000000000, i * 1000000000, (i + (i * 7919) % 5000) * 1000000000, 0, NULL, NULL
  FROM n, jobs WHERE id = 2;
INSERT INTO details SELECT jobs.id, submission, life, code FROM jobs, details
  WHERE jobs.id > 2 AND details.job = 2;
INSERT INTO timeline SELECT jobs.id, number, at_ns, event, from_state, to_state, attempt, who, words
  FROM jobs, timeline WHERE jobs.id > 2 AND timeline.job = 2;
INSERT INTO usage SELECT id, 1, team, owner, devices, started_ns, ended_ns, device_type, 0, 0, 0
  FROM jobs WHERE id > 2;
COMMIT;)",
                          jobs_wanted));
}

/// A run in progress: its files grow as an agent would make them grow.
class GrowingRun {
 public:
  explicit GrowingRun(const fs::path& run) : run_(run) {
    const fs::path node = run / "c" / "round1" / "n0_noderank0";
    fs::create_directories(node);
    std::ofstream(run / "plan.json")
        << R"({"cluster": {"launcher": "local", "traits": {"shares_files": true}}})";
    std::ofstream(run / "journal.jsonl")
        << fmt::format(R"({{"event":"run_start","wall_ns":{0}}})"
                       "\n"
                       R"({{"event":"round_start","case":"c","round":1,"wall_ns":{0}}})"
                       "\n",
                       wall_now_ns());
    std::ofstream(node / "telemetry.csv")
        << "mono_ns,wall_ns,source,util,mem_used_bytes,power_w,temp_c\n";
    lock_ = std::make_unique<store::RunLock>(run);
  }
  void grow() {
    const fs::path node = run_ / "c" / "round1" / "n0_noderank0";
    std::ofstream rank(node / "rank0.out.log", std::ios::app);
    for (int i = 0; i < 10; ++i)
      rank << fmt::format(
          "[PerfLog] {{\"event\": \"STEP_END\", \"value\": {{\"loss\": {}, \"samples\": 32}}, "
          "\"step\": {}, \"metadata\": {{\"time_ms\": {}}}}}\n",
          1.0 / (step_ + i + 1), step_ + i + 1, wall_now_ns() / 1'000'000 - 1000 + 100 * i);
    step_ += 10;
    std::ofstream telemetry(node / "telemetry.csv", std::ios::app);
    for (int device = 0; device < 8; ++device)
      telemetry << fmt::format("1,{},dev{},0.9,1000000,350,60\n", wall_now_ns(), device);
  }

 private:
  fs::path run_;
  std::unique_ptr<store::RunLock> lock_;
  int step_ = 0;
};

/// Hand-written HTTP, so that the client's cost is small compared with the server's.
class Connection {
 public:
  Connection(std::uint16_t port, std::string token) : token_(std::move(token)) {
    fd_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw Error(ErrorKind::environment, "cannot connect");
  }
  void ask(const std::string& path) {
    const std::string head = fmt::format(
        "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n", path, token_);
    if (::send(fd_.get(), head.data(), head.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(head.size()))
      throw Error(ErrorKind::environment, "the server has closed the connection");
  }
  /// Returns the body's length; the answer's status must be 200.
  std::size_t answer() {
    std::string text;
    std::size_t body = std::string::npos;
    std::size_t length = 0;
    while (body == std::string::npos || text.size() < body + length) {
      char buffer[65536];
      const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) throw Error(ErrorKind::environment, "the answer was cut");
      text.append(buffer, static_cast<std::size_t>(got));
      if (body != std::string::npos || (body = text.find("\r\n\r\n")) == std::string::npos)
        continue;
      body += 4;
      const std::string head = to_lower(text.substr(0, body));
      if (!head.starts_with("http/1.1 200"))
        throw Error(ErrorKind::environment, text.substr(0, text.find('\r')));
      length = std::strtoull(head.c_str() + head.find("content-length: ") + 16, nullptr, 10);
    }
    return length;
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::string token_;
  UniqueFd fd_;
};

const std::vector<std::pair<const char*, std::string>> kPages{
    {"session", "/api/v1/session"},
    {"jobs", "/api/v1/jobs?limit=50"},
    {"jobs, page 1000", "/api/v1/jobs?limit=50&offset=50000"},
    {"jobs, searched", "/api/v1/jobs?limit=50&search=77777"},
    {"jobs of a team", "/api/v1/jobs?limit=50&team=team7&state=finished"},
    {"job", "/api/v1/jobs/50000"},
    {"timeline", "/api/v1/jobs/50000/timeline"},
    {"metrics", "/api/v1/jobs/1/metrics?attempt=1"},
    {"console", "/api/v1/jobs/1/log?attempt=1"},
    {"nodes", "/api/v1/nodes"},
    {"queues", "/api/v1/queues"},
    {"usage", "/api/v1/usage?by=team,month"}};

double percentile(std::vector<double>& values, double part) {
  std::ranges::sort(values);
  return values.empty() ? 0
                        : values[std::min(values.size() - 1,
                                          static_cast<std::size_t>(part * double(values.size())))];
}

void ask_pages(std::uint16_t port, const std::string& token, int clients, double seconds,
               Nanoseconds pause) {
  std::vector<std::map<const char*, std::vector<double>>> taken(static_cast<std::size_t>(clients));
  std::atomic<int> failed = 0;
  std::vector<std::jthread> threads;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int client = 0; client < clients; ++client)
    threads.emplace_back([&, client] {
      try {
        Connection connection(port, token);
        auto next = Clock::now() + pause * client / clients;
        for (std::size_t at = static_cast<std::size_t>(client); Clock::now() < end; ++at) {
          if (pause.count() > 0) std::this_thread::sleep_until(next);
          next += pause;
          const auto& [name, path] = kPages[at % kPages.size()];
          const auto began = Clock::now();
          connection.ask(path);
          (void)connection.answer();
          taken[static_cast<std::size_t>(client)][name].push_back(
              std::chrono::duration<double, std::milli>(Clock::now() - began).count());
        }
      } catch (const Error& error) {
        if (failed++ == 0) fmt::print("  a client failed: {}\n", error.what());
      }
    });
  threads.clear();
  std::size_t answers = 0;
  std::vector<double> all;
  for (const auto& [name, path] : kPages) {
    std::vector<double> of_page;
    for (auto& one : taken) of_page.insert(of_page.end(), one[name].begin(), one[name].end());
    answers += of_page.size();
    all.insert(all.end(), of_page.begin(), of_page.end());
    fmt::print("  {:<18} {:>7} answers   median {:7.2f} ms   p99 {:7.2f} ms\n", name,
               of_page.size(), percentile(of_page, 0.5), percentile(of_page, 0.99));
  }
  fmt::print(
      "  {:<18} {:>7} answers   median {:7.2f} ms   p99 {:7.2f} ms   {:.0f} a second; {} "
      "clients failed\n",
      "all", answers, percentile(all, 0.5), percentile(all, 0.99), double(answers) / seconds,
      failed.load());
}

double cpu_seconds(pid_t pid) {
  const std::string text = read_file_or_empty(fmt::format("/proc/{}/stat", pid));
  const std::string rest = text.substr(text.rfind(')') + 2);
  const std::vector<std::string_view> fields = split(rest, ' ');
  const auto number = [&](std::size_t i) {
    return std::strtod(std::string(fields[i]).c_str(), nullptr);
  };
  return (number(11) + number(12)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string memory_of(pid_t pid) {
  const std::string text = read_file_or_empty(fmt::format("/proc/{}/status", pid));
  std::string out;
  for (const char* key : {"VmRSS:", "VmHWM:"}) {
    const std::size_t at = text.find(key);
    const std::string line = text.substr(at, text.find('\n', at) - at);
    out += fmt::format("{} {:.0f} MB  ", key,
                       std::strtod(line.c_str() + std::string_view(key).size(), nullptr) / 1024);
  }
  return out;
}

void feed_streams(pid_t server, std::uint16_t port, const std::vector<std::string>& tokens,
                  int streams, double seconds, GrowingRun& run) {
  std::vector<Connection> open;
  std::vector<pollfd> readers;
  for (int i = 0; i < streams; ++i) {
    open.emplace_back(port, tokens[static_cast<std::size_t>(i) % tokens.size()]);
    open.back().ask("/api/v1/jobs/1/metrics/stream?attempt=1");
    readers.push_back({open.back().fd(), POLLIN, 0});
  }
  double began_cpu = 0;
  auto began = Clock::now();
  std::size_t bytes = 0;
  std::size_t pieces = 0;
  int closed = 0;
  auto grown = Clock::now();
  bool warm = false;
  while (Clock::now() < began + std::chrono::duration<double>(seconds + (warm ? 0 : 3))) {
    if (!warm && Clock::now() > began + std::chrono::seconds(3)) {
      warm = true;
      began = Clock::now();
      began_cpu = cpu_seconds(server);
      bytes = pieces = 0;
    }
    if (Clock::now() > grown + std::chrono::seconds(1)) {
      grown = Clock::now();
      run.grow();
    }
    if (::poll(readers.data(), readers.size(), 50) <= 0) continue;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      pollfd& reader = readers[i];
      if ((reader.revents & (POLLIN | POLLHUP)) == 0) continue;
      char buffer[65536];
      const ssize_t got = ::recv(reader.fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got <= 0) {
        // Beyond a crowd, whom the server has not answered yet makes room; a browser comes again.
        if (warm) ++closed;
        open[i] = Connection(port, tokens[i % tokens.size()]);
        open[i].ask("/api/v1/jobs/1/metrics/stream?attempt=1");
        reader = {open[i].fd(), POLLIN, 0};
        continue;
      }
      bytes += static_cast<std::size_t>(got);
      ++pieces;
    }
  }
  const double took = std::chrono::duration<double>(Clock::now() - began).count();
  fmt::print(
      "{} streams, an update a second: {:.1f} % of a core; {:.0f} pieces and {:.2f} MB a "
      "second; {} closed\n",
      streams, 100 * (cpu_seconds(server) - began_cpu) / took, double(pieces) / took,
      double(bytes) / took / 1e6, closed);
}

int bench(int jobs, int clients, int streams, double seconds) {
  const ScratchFolder folder("assay-bench-serve");
  const fs::path& data = folder.path();
  fill(data, jobs);
  std::string token;
  std::vector<std::string> listeners;
  {
    accounts::Accounts people(data / "accounts.db");
    people.put({.name = "admin", .role = assay::jobs::Role::admin}, wall_now_ns());
    token = people.make_token("admin", "bench", 0, wall_now_ns());
    // A person may have this many streams and no more.
    for (std::size_t i = 0; i * rest::OpenStreams::kMaxOfPerson < std::size_t(streams); ++i) {
      const std::string name = fmt::format("listener{}", i);
      people.put({.name = name, .role = assay::jobs::Role::admin}, wall_now_ns());
      listeners.push_back(people.make_token(name, "bench", 0, wall_now_ns()));
    }
  }
  GrowingRun run(data / "jobs" / "1" / "attempt-1" / "run" / "run1");
  run.grow();
  Pipe said = make_pipe();
  const pid_t server = ::fork();
  if (server == 0) {
    try {
      site::ServeOptions options;
      options.data = data;
      options.port = 0;
      options.engine = [] { return std::make_unique<StillEngine>(); };
      options.pages.assign(web::files().begin(), web::files().end());
      site::run_server(options, [&](const std::string& text) {
        const std::string line = text + "\n";
        write_all(said.write.get(), line, "pipe");
      });
    } catch (const Error& error) {
      fmt::print(stderr, "bench_serve: the server: {}\n", error.what());
    }
    ::_exit(0);
  }
  said.write.reset();
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while (text.find("listening on ") == std::string::npos &&
         (got = ::read(said.read.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  const auto port = static_cast<std::uint16_t>(std::strtoul(
      text.c_str() + text.find(':', text.find("listening on http://") + 20) + 1, nullptr, 10));
  fmt::print("{} jobs, 1000 nodes; the server: {}\n", jobs, memory_of(server));
  fmt::print("{} clients, each asks once a second:\n", clients);
  ask_pages(port, token, clients, seconds, std::chrono::seconds(1));
  fmt::print("{} clients, as fast as they can:\n", clients);
  ask_pages(port, token, clients, seconds, Nanoseconds(0));
  feed_streams(server, port, listeners, streams, seconds, run);
  fmt::print("afterwards, the server: {}\n", memory_of(server));
  ::kill(server, SIGTERM);
  int status = 0;
  ::waitpid(server, &status, 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, double> options{
      {"--jobs", 100'000}, {"--clients", 50}, {"--streams", 500}, {"--seconds", 20}};
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = std::strtod(argv[i + 1], nullptr);
  try {
    return bench(static_cast<int>(options["--jobs"]), static_cast<int>(options["--clients"]),
                 static_cast<int>(options["--streams"]), options["--seconds"]);
  } catch (const assay::Error& error) {
    fmt::print(stderr, "bench_serve: {}\n", error.what());
    return 1;
  }
}
