#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "e2e/ssh_hosts.h"

namespace assay::bench {

[[nodiscard]] double since_s(std::int64_t begin_ns);
[[nodiscard]] double median(std::vector<double> values);

/// CPU seconds of this process's children that ended, and of what they waited for.
[[nodiscard]] double children_cpu_s();
/// User and system time of a living process, seconds; `of_children`: of its children that ended.
[[nodiscard]] double cpu_of(pid_t pid, bool of_children = false);

/// `assay run` in a folder of its own.
class Runs {
 public:
  explicit Runs(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Runs the suite to its end; the journal's events. Throws Error when it fails.
  std::vector<Json> run(const std::string& suite);
  /// Seconds from `assay run` until every agent had answered and the first round began.
  double until_ready_s(const std::string& suite);

 private:
  std::filesystem::path folder_;
  std::int64_t started_ns_ = 0;
};

/// "cases:" with one case of so many nodes.
[[nodiscard]] std::string one_case(int nodes, const std::string& command,
                                   const std::string& more = {});

/// ssh without anything of Assay; `files` is the folder of the sshd's keys.
[[nodiscard]] std::vector<std::string> bare_ssh(const e2e::SshDaemon& sshd,
                                                const std::filesystem::path& files, int host,
                                                const std::string& command);

/// What the user's shell does when it starts (~/.bashrc) is neither ssh nor Assay: an empty home.
void give_an_empty_home(const e2e::SshDaemon& sshd, const std::filesystem::path& files);

/// How starting agents over SSH grows with the number of hosts. Prints its lines.
void measure_ssh_start(const std::filesystem::path& folder);

/// As "ssh" on PATH: takes the CPU time and then the waiting time that ASSAY_STAND_IN_SSH says
/// ("CPU WAIT", seconds), and becomes the remote command, here. Gives an exit code on failure.
int stand_in_ssh(const std::string& command);

}  // namespace assay::bench
