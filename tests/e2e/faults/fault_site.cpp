#include "e2e/faults/fault_site.h"

#include <algorithm>
#include <cstdlib>

#include <signal.h>

#include "core/files.h"
#include "e2e/net_namespaces.h"
#include "e2e/slurm_cluster.h"
#include "send_signal.h"

namespace assay::e2e {

namespace {

std::string file_of(pid_t pid, const char* name) {
  return read_file_or_empty("/proc/" + std::to_string(pid) + "/" + name);
}

std::vector<pid_t> named(std::vector<pid_t> processes, const std::string& name) {
  std::erase_if(processes,
                [&](pid_t pid) { return !alive(pid) || file_of(pid, "comm") != name + "\n"; });
  return processes;
}

bool has_variable(pid_t pid, const std::string& variable) {
  return ('\0' + file_of(pid, "environ")).find('\0' + variable + '\0') != std::string::npos;
}

class LocalSite : public FaultSite {
 public:
  explicit LocalSite(fs::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::string cluster() const override {
    return "cluster: {launcher: local, hosts: [one, two]}\n";
  }
  [[nodiscard]] std::string host(int node) const override { return node == 0 ? "one" : "two"; }
  [[nodiscard]] std::vector<pid_t> agents(int node, const std::string& half) const override {
    std::vector<pid_t> found =
        named(processes_with("assay-agent --node " + std::to_string(node)), half);
    // Of this test's own run: they work where it was started.
    std::erase_if(found, [&](pid_t pid) {
      std::error_code ec;
      return fs::read_symlink("/proc/" + std::to_string(pid) + "/cwd", ec) != folder_;
    });
    return found;
  }

 private:
  fs::path folder_;
};

class SshSite : public FaultSite {
 public:
  explicit SshSite(const fs::path& folder) : hosts_(folder, 2) {}

  [[nodiscard]] std::string missing() const override { return hosts_.missing(); }
  [[nodiscard]] std::string cluster() const override {
    return hosts_.cluster("connect_timeout: 10s");
  }
  [[nodiscard]] std::string host(int node) const override { return NamespaceHosts::host(node + 1); }
  [[nodiscard]] std::vector<pid_t> agents(int node, const std::string& half) const override {
    return named(processes_with((hosts_.cache() / host(node)).string()), half);
  }
  void cut_link(int node) override { hosts_.net().cut(node + 1); }
  void restore_link(int node) override { hosts_.net().restore(node + 1); }
  void set_clock_wrong(int node, int offset_s) override {
    hosts_.set_environment(node + 1, "LD_PRELOAD=" ASSAY_BIN_DIR
                                     "/libskewed_clock.so ASSAY_TEST_CLOCK_OFFSET_S=" +
                                         std::to_string(offset_s));
  }

 private:
  NamespaceHosts hosts_;
};

class SlurmSite : public FaultSite {
 public:
  explicit SlurmSite(const fs::path& folder) : folder_(folder), cluster_(folder, 2) {}
  ~SlurmSite() override {
    for (const char* name : {"LD_PRELOAD", "ASSAY_TEST_CLOCK_OFFSET_S", "ASSAY_TEST_CLOCK_NODE"})
      ::unsetenv(name);
  }

  [[nodiscard]] std::string missing() const override {
    return cluster_.missing().empty() ? cluster_.broken() : cluster_.missing();
  }
  [[nodiscard]] std::string cluster() const override {
    return "cluster: {launcher: slurm, slurm: {wait: 60s, nodelist: 'n[1-2]'}}\n";
  }
  [[nodiscard]] std::string host(int node) const override { return "n" + std::to_string(node + 1); }
  [[nodiscard]] std::vector<pid_t> agents(int node, const std::string& half) const override {
    return on_node(node, half, "assay-agent");
  }
  // All nodes are this machine: what carries a node's messages is its step daemon.
  void cut_link(int node) override {
    for (const pid_t guardian : agents(node, "assay-guardian")) {
      const pid_t step = parent_of(guardian);
      if (file_of(step, "comm") != "slurmstepd\n") continue;
      send_signal(step, SIGSTOP);
      stopped_.push_back(step);
    }
    EXPECT_FALSE(stopped_.empty()) << "no step daemon was found";
  }
  void restore_link(int /*node*/) override {
    for (const pid_t step : stopped_) send_signal(step, SIGCONT);
    stopped_.clear();
  }
  void set_clock_wrong(int node, int offset_s) override {
    // srun hands the environment on; only what slurmd starts on that node has the other clock.
    ::setenv("LD_PRELOAD", ASSAY_BIN_DIR "/libskewed_clock.so", 1);
    ::setenv("ASSAY_TEST_CLOCK_OFFSET_S", std::to_string(offset_s).c_str(), 1);
    ::setenv("ASSAY_TEST_CLOCK_NODE", host(node).c_str(), 1);
  }

 private:
  [[nodiscard]] std::vector<pid_t> on_node(int node, const std::string& name,
                                           const std::string& text) const {
    std::vector<pid_t> found = named(processes_with(text), name);
    std::erase_if(found, [&](pid_t pid) {
      return !has_variable(pid, "SLURMD_NODENAME=" + host(node)) ||
             !has_variable(pid, "SLURM_CONF=" + (folder_ / "slurm/slurm.conf").string());
    });
    return found;
  }

  fs::path folder_;
  SlurmCluster cluster_;
  std::vector<pid_t> stopped_;
};

}  // namespace

fs::path disk_of(Launcher launcher, const fs::path& folder, int node) {
  if (launcher != Launcher::ssh && launcher != Launcher::head) return folder / "results";
  return folder / "hosts/cache" / NamespaceHosts::host(node + 1);
}

std::unique_ptr<FaultSite> make_site(Launcher launcher, const fs::path& folder) {
  switch (launcher) {
    case Launcher::local:
      return std::make_unique<LocalSite>(folder);
    case Launcher::ssh:
    case Launcher::head:
      return std::make_unique<SshSite>(folder);
    case Launcher::slurm:
    case Launcher::slurm_head:
      return std::make_unique<SlurmSite>(folder);
  }
  return nullptr;
}

}  // namespace assay::e2e
