// How starting agents, watching them and fetching their logs scale with the number of nodes. Uses a
// real sshd and a real Slurm on this machine, as in the tests; "nodes" share its cores, so the same
// run also measures the cost of plain `ssh` here. Prints one line per measurement. usage:
// bench_cluster [ssh] [slurm] [nodes] [collect]      without words: all of them

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"
#include "e2e/slurm_cluster.h"
#include "e2e/ssh_hosts.h"
#include "runs.h"
#include "temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using namespace assay;
using namespace assay::bench;

constexpr int kRepeats = 5;

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

// Real agents and the real, single-threaded controller; only the connection between them is a pipe.
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
  // Lines like those of ranks: repeating text, varying numbers.
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
  if (fs::path(argv[0]).filename() == "ssh") return stand_in_ssh(wanted.back());
  if (wanted.empty()) wanted = {"ssh", "slurm", "nodes", "collect"};
  ::setenv("ASSAY_CONF", ASSAY_SOURCE_DIR "/conf", 1);
  int code = 0;
  for (const std::string& what : wanted) {
    const assay::testing::TemporaryFolder folder;
    try {
      if (what == "ssh")
        measure_ssh_start(folder.path());
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
