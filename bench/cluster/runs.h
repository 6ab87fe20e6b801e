#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "e2e/ssh_hosts.h"

namespace assay::bench {

[[nodiscard]] double since_s(std::int64_t begin_ns);
[[nodiscard]] double median(std::vector<double> values);

/// CPU seconds of this process's ended children and of what they waited for.
[[nodiscard]] double children_cpu_s();
/// User and system time of a living process, in seconds; `of_children`: of its ended children.
[[nodiscard]] double cpu_of(pid_t pid, bool of_children = false);

/// Runs `assay run` in its own folder.
class Runs {
 public:
  explicit Runs(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Runs the suite to its end and returns the journal's events. Throws Error if it fails.
  std::vector<Json> run(const std::string& suite);
  /// Seconds from `assay run` until every agent had answered and the first round began.
  double until_ready_s(const std::string& suite);

 private:
  std::filesystem::path folder_;
  std::int64_t started_ns_ = 0;
};

/// "cases:" with a single case of this many nodes.
[[nodiscard]] std::string one_case(int nodes, const std::string& command,
                                   const std::string& more = {});

/// ssh without any part of Assay; `files` is the folder with the sshd's keys.
[[nodiscard]] std::vector<std::string> bare_ssh(const e2e::SshDaemon& sshd,
                                                const std::filesystem::path& files, int host,
                                                const std::string& command);

/// Uses an empty home, because the user's shell startup (~/.bashrc) is neither ssh nor Assay.
void give_an_empty_home(const e2e::SshDaemon& sshd, const std::filesystem::path& files);

/// Measures how starting agents over SSH scales with the number of hosts. Prints its lines.
void measure_ssh_start(const std::filesystem::path& folder);

/// Runs as "ssh" on PATH: uses the CPU time and then the waiting time given in ASSAY_STAND_IN_SSH
/// ("CPU WAIT", seconds), and becomes the remote command, here. Returns an exit code on failure.
int stand_in_ssh(const std::string& command);

}  // namespace assay::bench
