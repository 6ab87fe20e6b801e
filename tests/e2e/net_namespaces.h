#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "e2e/harness.h"

namespace assay::e2e {

/// Machines that are network namespaces: each has an interface and an address of its own, all hang
/// on one bridge, and this process reaches them too. Links can be cut and pairs be kept apart.
/// Several test processes may have some at once. Everything is removed with the object; what a
/// test that was killed left is removed by the next one that gets the same number.
class NetNamespaces {
 public:
  /// Hosts are numbered from 1 to `hosts` (at most 250). See missing().
  explicit NetNamespaces(int hosts);
  ~NetNamespaces();
  NetNamespaces(const NetNamespaces&) = delete;
  NetNamespaces& operator=(const NetNamespaces&) = delete;

  /// Why there are none (not root, no `ip`, not allowed here). Empty: they are there.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] int size() const { return hosts_; }
  [[nodiscard]] std::string address(int host) const;
  [[nodiscard]] std::string name(int host) const;
  /// The words that run a command on a host: {"ip", "netns", "exec", …}.
  [[nodiscard]] std::vector<std::string> prefix(int host) const;

  /// Pulls the host's cable, and puts it back: nothing reaches it or leaves it in between, and
  /// nobody is told.
  void cut(int host);
  void restore(int host);
  /// As a firewall that drops what `from` sends to `to`: `from` waits in vain.
  void drop(int from, int to);
  /// As a firewall that refuses what `from` sends to `to`: `from` is told at once.
  void refuse(int from, int to);
  /// Bytes that this process's side has sent to all hosts, on the wire.
  [[nodiscard]] std::uint64_t sent_by_controller() const;
  /// Takes back drop() and refuse().
  void allow(int from, int to);

 private:
  void remove();
  [[nodiscard]] std::string interface(int host) const;

  int hosts_ = 0;
  int number_ = -1;  // of the bridge and of the subnet
  std::string missing_;
};

/// A real sshd in every namespace, with keys of their own, and a suite's cluster that reaches them.
class NamespaceHosts {
 public:
  /// Whose homes the hosts see.
  enum class Home {
    machine,  ///< those of this machine
    shared,   ///< /home is home() on all of them, root's is /home/root, and /usr/local/bin is bin()
  };
  /// Whose /sys they see.
  enum class Sys {
    own,      ///< with the interfaces of their own, and without control groups
    machine,  ///< this machine's, as runtimes of containers need it
  };
  /// Files go to `folder`.
  NamespaceHosts(const fs::path& folder, int hosts, Home home = Home::machine, Sys sys = Sys::own);
  ~NamespaceHosts();
  NamespaceHosts(const NamespaceHosts&) = delete;
  NamespaceHosts& operator=(const NamespaceHosts&) = delete;

  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] NetNamespaces& net() { return net_; }
  /// "cluster:" of a suite; the hosts are named n1, n2, …; `more` goes into its ssh part.
  [[nodiscard]] std::string cluster(const std::string& more = {}) const;
  [[nodiscard]] static std::string host(int number) { return "n" + std::to_string(number); }
  /// A shell's words that run `command` on a host over its sshd, from anywhere.
  [[nodiscard]] std::string ssh_to(int number, const std::string& command) const;
  /// What a login on the host gets in its environment from now on: "NAME=value OTHER=value".
  void set_environment(int number, const std::string& variables);
  /// A folder that every host sees under this path with a content of its own, that of own_of().
  [[nodiscard]] fs::path own() const { return folder_ / "own"; }
  [[nodiscard]] fs::path own_of(int number) const { return folder_ / ("own-" + host(number)); }
  [[nodiscard]] fs::path home() const { return folder_ / "home"; }
  [[nodiscard]] fs::path bin() const { return folder_ / "bin"; }
  /// What assay keeps on the hosts, a folder for each by its name.
  [[nodiscard]] fs::path cache() const { return folder_ / "cache"; }

 private:
  fs::path folder_;
  NetNamespaces net_;
  std::string missing_;
  std::vector<pid_t> daemons_;
};

}  // namespace assay::e2e
