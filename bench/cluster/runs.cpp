#include "runs.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::bench {

namespace fs = std::filesystem;

double since_s(std::int64_t begin_ns) {
  return static_cast<double>(mono_now_ns() - begin_ns) * 1e-9;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double children_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto total = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return total(usage.ru_utime) + total(usage.ru_stime);
}

double cpu_of(pid_t pid, bool of_children) {
  const std::string stat = read_file_or_empty(fmt::format("/proc/{}/stat", pid));
  const auto close = stat.rfind(')');
  if (close == std::string::npos) return 0;
  const auto words = split(std::string_view(stat).substr(close + 2), ' ');
  const std::size_t at = of_children ? 13 : 11;
  const double ticks =
      std::stod(std::string(words.at(at))) + std::stod(std::string(words.at(at + 1)));
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<Json> Runs::run(const std::string& suite) {
  std::ofstream(folder_ / "suite.yaml") << suite;
  CommandOptions options;
  options.timeout = std::chrono::minutes(5);
  const fs::path out = folder_ / "results";
  started_ns_ = mono_now_ns();
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

double Runs::until_ready_s(const std::string& suite) {
  for (const Json& event : run(suite))
    if (event["event"] == "round_start")
      return static_cast<double>(event["mono_ns"].get<std::int64_t>() - started_ns_) * 1e-9;
  throw Error(ErrorKind::internal, "no round began");
}

// Measures how soon agents are ready: the rounds need no quiet machine.
std::string one_case(int nodes, const std::string& command, const std::string& more) {
  return fmt::format(
      "telemetry: {{enabled: false}}\ncases:\n  - {{name: t, nodes: {}, command: {}{}, rules: "
      "{{min-steps: off, min-duration: off, perflog-present: off, load-before: off, "
      "other-runs: off, cpu-taken: off}}}}\n",
      nodes, command, more);
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

void give_an_empty_home(const e2e::SshDaemon& sshd, const fs::path& files) {
  std::ofstream(files / "sshd_config", std::ios::app) << "SetEnv HOME=" << files.string() << "\n";
  ::kill(sshd.pid(), SIGHUP);
  const auto told = [&] {
    return trim(run_command(bare_ssh(sshd, files, 1, "echo $HOME")).out) == files.string();
  };
  if (!e2e::eventually(told, std::chrono::seconds(20)))
    throw Error(ErrorKind::environment, "sshd does not take its new configuration");
}

}  // namespace assay::bench
