#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "harness.h"

namespace assay::e2e {

/// A real sshd on loopback with keys of its own: every address of 127.0.0.0/8 is a host of its
/// own to ssh. Ends with the object.
class SshDaemon {
 public:
  /// Files go to `folder`; listens on every loopback address at a free port.
  explicit SshDaemon(const fs::path& folder);
  ~SshDaemon();
  SshDaemon(const SshDaemon&) = delete;
  SshDaemon& operator=(const SshDaemon&) = delete;

  /// Why there is none: no sshd on this machine. Empty: it runs.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// "cluster:" of a suite with the hosts 127.1.0.1 … 127.1.0.n; `more` goes into its ssh part.
  [[nodiscard]] std::string cluster(int hosts, const std::string& more = {}) const;
  /// Kills the daemon and every connection that it serves.
  void kill_all();
  [[nodiscard]] static std::string host(int number) { return "127.1.0." + std::to_string(number); }
  [[nodiscard]] fs::path cache() const { return folder_ / "cache"; }

 private:
  fs::path folder_;
  std::string missing_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace assay::e2e
