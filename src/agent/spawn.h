#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace assay::agent {

struct SpawnRequest {
  std::vector<std::string> argv;
  std::vector<std::string> env;  ///< "NAME=value", complete
  std::string workdir;           ///< empty: unchanged
  int output_fd = -1;            ///< becomes stdout and stderr
};

struct SpawnResult {
  pid_t pid = -1;     ///< -1: not started
  std::string error;  ///< "cannot execute 'x': No such file or directory"
};

/// Starts a process in a group of its own, stdin from /dev/null, no inherited descriptors, default
/// signal dispositions, and killed by the kernel should the agent die. Returns when the program
/// has replaced the child (or could not), so the pid of a result without error is a running rank.
[[nodiscard]] SpawnResult spawn(const SpawnRequest& request);

/// This process's environment with `overrides` ("NAME=value") in place of same-named entries.
[[nodiscard]] std::vector<std::string> environment_with(const std::vector<std::string>& overrides);

/// Raises the soft limit of open files to the hard one for this process; children that spawn()
/// starts get the original limit back.
void raise_open_file_limit();

}  // namespace assay::agent
