// How starting agents, watching them and fetching their logs grow with the number of nodes. A real
// sshd and a real Slurm on this machine, as the tests have them; "nodes" share its cores, so what
// the bare `ssh` costs here is measured in the same run. Prints one line per measurement.
// usage: bench_cluster [ssh] [slurm] [nodes] [collect]      without words: all of them

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"
#include "slurm_cluster.h"
#include "ssh_hosts.h"
#include "temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using namespace assay;

constexpr int kManyHosts = 64;
constexpr int kRepeats = 5;

double since_s(std::int64_t begin_ns) {
  return static_cast<double>(mono_now_ns() - begin_ns) * 1e-9;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// CPU seconds of this process's children that ended, and of what they waited for.
double children_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto total = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return total(usage.ru_utime) + total(usage.ru_stime);
}

class Runs {
 public:
  explicit Runs(fs::path folder) : folder_(std::move(folder)) {}

  /// Runs the suite to its end; the journal's events.
  std::vector<Json> run(const std::string& suite) {
    std::ofstream(folder_ / "suite.yaml") << suite;
    CommandOptions options;
    options.timeout = std::chrono::minutes(5);
    const fs::path out = folder_ / "results";
    started_ns = mono_now_ns();
    const CommandResult result = run_command(
        {ASSAY_BIN_DIR "/assay", "run", (folder_ / "suite.yaml").string(), "--out", out.string()},
        options);
    if (!result.status.ok())
      throw Error(ErrorKind::environment,
                  "assay run gave " + to_string(result.status) + "\n" + result.out + result.err);
    std::vector<Json> events;
    const std::string journal = read_file(out / "latest/journal.jsonl");
    for (const std::string_view line : split(journal, '\n'))
      if (!line.empty()) events.push_back(Json::parse(line));
    return events;
  }
  /// Seconds from `assay run` until every agent had answered and the first round began.
  double until_ready_s(const std::string& suite) {
    for (const Json& event : run(suite))
      if (event["event"] == "round_start")
        return static_cast<double>(event["mono_ns"].get<std::int64_t>() - started_ns) * 1e-9;
    throw Error(ErrorKind::internal, "no round began");
  }

  std::int64_t started_ns = 0;

 private:
  fs::path folder_;
};

std::string one_case(int nodes, const std::string& command, const std::string& more = {}) {
  return fmt::format(
      "telemetry: {{enabled: false}}\ncases:\n  - {{name: t, nodes: {}, command: {}{}, rules: "
      "{{min-steps: off, min-duration: off, perflog-present: off}}}}\n",
      nodes, command, more);
}

std::string ssh_suite(const e2e::SshDaemon& sshd, int hosts) {
  return "name: b\n" + sshd.cluster(hosts, "connect_timeout: 60s") + one_case(hosts, "[/bin/true]");
}

std::vector<std::string> bare_ssh(const e2e::SshDaemon& sshd, const fs::path& files, int host,
                                  const std::string& command) {
  return {"ssh",
          "-T",
          "-F",
          "/dev/null",
          "-o",
          "BatchMode=yes",
          "-o",
          "UserKnownHostsFile=" + (files / "known_hosts").string(),
          "-o",
          "IdentitiesOnly=yes",
          "-i",
          (files / "user_key").string(),
          "-p",
          std::to_string(sshd.port()),
          e2e::SshDaemon::host(host),
          command};
}

/// What the user's shell does when it starts (~/.bashrc) is neither ssh nor Assay: an empty home.
void give_an_empty_home(const e2e::SshDaemon& sshd, const fs::path& files) {
  std::ofstream(files / "sshd_config", std::ios::app) << "SetEnv HOME=" << files.string() << "\n";
  ::kill(sshd.pid(), SIGHUP);
  const auto told = [&] {
    return trim(run_command(bare_ssh(sshd, files, 1, "echo $HOME")).out) == files.string();
  };
  if (!e2e::eventually(told, std::chrono::seconds(20)))
    throw Error(ErrorKind::environment, "sshd does not take its new configuration");
}

/// Seconds for `ssh HOST true` on so many hosts at once, with nothing of Assay.
double bare_ssh_s(const e2e::SshDaemon& sshd, const fs::path& files, int hosts) {
  const std::int64_t begin = mono_now_ns();
  std::vector<pid_t> children;
  for (int i = 1; i <= hosts; ++i) {
    std::vector<std::string> words = bare_ssh(sshd, files, i, "true");
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) throw Error(ErrorKind::environment, "ssh true failed");
  }
  return since_s(begin);
}

void ssh(const fs::path& folder) {
  const e2e::SshDaemon sshd(folder);
  if (!sshd.missing().empty()) return fmt::print("ssh: left out, {}\n", sshd.missing());
  give_an_empty_home(sshd, folder / "sshd");
  Runs runs(folder);
  const double copy_one = runs.until_ready_s(ssh_suite(sshd, 1));
  fs::remove_all(sshd.cache());
  fs::create_directories(sshd.cache());
  const double copy_many = runs.until_ready_s(ssh_suite(sshd, kManyHosts));
  std::vector<double> one;
  std::vector<double> many;
  std::vector<double> bare_one;
  std::vector<double> bare_many;
  for (int i = 0; i < kRepeats; ++i) {  // by turns, so that other load hits all alike
    bare_one.push_back(bare_ssh_s(sshd, folder / "sshd", 1));
    one.push_back(runs.until_ready_s(ssh_suite(sshd, 1)));
    bare_many.push_back(bare_ssh_s(sshd, folder / "sshd", kManyHosts));
    many.push_back(runs.until_ready_s(ssh_suite(sshd, kManyHosts)));
  }
  fmt::print("bare `ssh HOST true`: 1 host {:.2f} s, {} at once {:.2f} s (ratio {:.1f})\n",
             median(bare_one), kManyHosts, median(bare_many), median(bare_many) / median(bare_one));
  fmt::print(
      "assay run → all agents ready: 1 host {:.2f} s, {} hosts {:.2f} s (ratio {:.1f}); beyond "
      "bare ssh: {:.2f} s and {:.2f} s\n",
      median(one), kManyHosts, median(many), median(many) / median(one),
      median(one) - median(bare_one), median(many) - median(bare_many));
  fmt::print("first time, with the programs copied: 1 host {:.2f} s, {} hosts {:.2f} s\n", copy_one,
             kManyHosts, copy_many);
}

void slurm(const fs::path& folder) {
  const e2e::SlurmCluster cluster(folder, 4);
  if (!cluster.missing().empty()) return fmt::print("slurm: left out, {}\n", cluster.missing());
  if (!cluster.broken().empty()) throw Error(ErrorKind::environment, cluster.broken());
  Runs runs(folder);
  const auto suite = [](int nodes) {
    return "name: b\ncluster: {launcher: slurm, slurm: {wait: 60s}}\n" +
           one_case(nodes, "[/bin/true]");
  };
  std::vector<double> one;
  std::vector<double> four;
  for (int i = 0; i < kRepeats; ++i) {
    one.push_back(runs.until_ready_s(suite(1)));
    four.push_back(runs.until_ready_s(suite(4)));
  }
  fmt::print(
      "slurm, assay run → all agents ready: 1 node {:.2f} s, 4 nodes {:.2f} s (ratio {:.1f})\n",
      median(one), median(four), median(four) / median(one));
}

/// User and system time of a living process, seconds.
double cpu_of(pid_t pid) {
  const std::string stat = read_file_or_empty(fmt::format("/proc/{}/stat", pid));
  const auto close = stat.rfind(')');
  if (close == std::string::npos) return 0;
  const auto words = split(std::string_view(stat).substr(close + 2), ' ');
  const double ticks = std::stod(std::string(words.at(11))) + std::stod(std::string(words.at(12)));
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Real agents and the real controller, which has one thread; only the way to them is a pipe.
void nodes(const fs::path& folder, int count) {
  std::string hosts;
  for (int i = 0; i < count; ++i) hosts += fmt::format("{}h{}", i == 0 ? "" : ", ", i);
  std::ofstream(folder / "suite.yaml")
      << "name: b\ncluster: {launcher: local, hosts: [" << hosts << "]}\n"
      << one_case(count, "[sleep, '30']");
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::freopen((folder / "assay.log").c_str(), "w", stdout) == nullptr) ::_exit(127);
    ::execl(ASSAY_BIN_DIR "/assay", "assay", "run", (folder / "suite.yaml").c_str(), "--out",
            (folder / "results").c_str(), nullptr);
    ::_exit(127);
  }
  const std::int64_t begin = mono_now_ns();
  const fs::path live = folder / "results/latest/live.json";
  const auto beating = [&] {
    const Json json = parse_json_or_null(read_file_or_empty(live));
    return json.is_object() && json["nodes"].size() == static_cast<std::size_t>(count);
  };
  const bool all = e2e::eventually(beating, std::chrono::minutes(2));
  const double start_s = since_s(begin);
  const double start_cpu = cpu_of(pid);
  const std::int64_t from = mono_now_ns();
  ::sleep(15);
  const double share = (cpu_of(pid) - start_cpu) / since_s(from);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!all || status != 0)
    throw Error(ErrorKind::environment, "the run failed: " + read_file(folder / "assay.log"));
  fmt::print(
      "{} nodes on one controller thread: all heard {:.1f} s after `assay run` ({:.2f} s of its "
      "CPU), then {:.1f} % of a core with a heartbeat a second from each\n",
      count, start_s, start_cpu, 100 * share);
}

void collect(const fs::path& folder) {
  constexpr int kHosts = 16;
  constexpr double kBytes = 64.0 * (1 << 20) * kHosts;
  const e2e::SshDaemon sshd(folder);
  if (!sshd.missing().empty()) return fmt::print("collect: left out, {}\n", sshd.missing());
  give_an_empty_home(sshd, folder / "sshd");
  // Lines as ranks write them: a text that repeats, numbers that do not.
  {
    std::ofstream text(folder / "text");
    std::uint64_t state = 88172645463325252ULL;
    while (text.tellp() < (64 << 20)) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      text << R"([PerfLog] {"event": "STEP_END", "value": {"loss": 2.)" << state % 10'000'000
           << R"(, "samples": 256, "step_s": 0.)" << state / 7 % 1'000'000 << R"(}, "step": )"
           << state / 3 % 100'000 << "}\n";
    }
  }
  Runs runs(folder);
  const double cpu = children_cpu_s();
  const std::string suite =
      "name: b\n" + sshd.cluster(kHosts) +
      one_case(kHosts, "[cat, " + (folder / "text").string() + "]", ", limits: {output: 200M}");
  double bytes = 0;
  std::int64_t ended = 0;
  std::int64_t collected = 0;
  for (const Json& event : runs.run(suite)) {
    const auto at = event["mono_ns"].get<std::int64_t>();
    if (event["event"] == "node_end") ended = std::max(ended, at);
    if (event["event"] == "collected") bytes += event["bytes"].get<double>();
    if (event["event"] == "round_end") collected = at;
  }
  if (bytes < kBytes) throw Error(ErrorKind::environment, "not everything came back");
  const double took = static_cast<double>(collected - ended) * 1e-9;
  const std::int64_t begin = mono_now_ns();
  for (int i = 0; i < kHosts; ++i)
    (void)run_command(
        {"cp", (folder / "text").string(), (folder / fmt::format("c{}", i)).string()});
  const double copied = since_s(begin);
  const std::int64_t synced_from = mono_now_ns();
  (void)run_command({"dd", "if=/dev/zero", "of=" + (folder / "zeros").string(), "bs=1M",
                     "count=1024", "conv=fdatasync"});
  const double synced = since_s(synced_from);
  fmt::print(
      "{:.2f} GB of logs from {} hosts: {:.1f} s, {:.0f} MB/s ({:.1f} s of CPU in all); `cp` of "
      "the "
      "same bytes {:.0f} MB/s, `dd conv=fdatasync` {:.0f} MB/s\n",
      bytes / 1e9, kHosts, took, bytes / 1e6 / took, children_cpu_s() - cpu, kBytes / 1e6 / copied,
      1073.7 / synced);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted(argv + 1, argv + argc);
  if (wanted.empty()) wanted = {"ssh", "slurm", "nodes", "collect"};
  ::setenv("ASSAY_CONF", ASSAY_SOURCE_DIR "/conf", 1);
  int code = 0;
  for (const std::string& what : wanted) {
    const assay::testing::TemporaryFolder folder;
    try {
      if (what == "ssh")
        ssh(folder.path());
      else if (what == "slurm")
        slurm(folder.path());
      else if (what == "nodes")
        nodes(folder.path(), 1000);
      else if (what == "collect")
        collect(folder.path());
      else
        throw Error(ErrorKind::usage, "unknown measurement '" + what + "'");
    } catch (const std::exception& error) {
      fmt::print(stderr, "bench_cluster {}: {}\n", what, error.what());
      code = 1;
    }
    std::fflush(stdout);
  }
  return code;
}
