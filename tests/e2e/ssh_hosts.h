#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

/// Keys (host_key, user_key), authorized_keys and sshd_config of an sshd in `folder`, which exists.
void make_ssh_files(const fs::path& folder, int port);
/// Starts sshd with the files of make_ssh_files, behind `prefix` (a command that becomes it) and in
/// a session of its own; its words go to `log`.
[[nodiscard]] pid_t start_sshd(const fs::path& folder, const fs::path& log,
                               const std::vector<std::string>& prefix = {});
/// Kills an sshd of start_sshd and every connection that it serves.
void kill_sshd(pid_t pid);
/// "ssh: {…}" of a suite's cluster that reaches such an sshd; `more` goes into it.
[[nodiscard]] std::string ssh_settings(const fs::path& folder, int port, const fs::path& cache,
                                       const std::string& more = {});
/// Why there can be no sshd on this machine; empty: there can.
[[nodiscard]] std::string missing_for_ssh();
/// A connection to this address; none (-1) when nobody takes it.
[[nodiscard]] UniqueFd connect_to(const std::string& address, int port);
/// Whether somebody takes connections at this address.
[[nodiscard]] bool takes_connections(const std::string& address, int port);

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

/// Tests on the hosts of an SshDaemon; checks that nothing of ours stays on any of them.
class SshTest : public AssayTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  SshDaemon sshd_{folder_};
};

}  // namespace assay::e2e
