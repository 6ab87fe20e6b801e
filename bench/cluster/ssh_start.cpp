// 64 hosts over SSH compared with one. Here clients, servers and agents share the cores, so their
// CPU times are separated; for hosts with their own cores, a stand-in for ssh uses a client's CPU
// time and then waits, as a client does for its server.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/time.h"
#include "runs.h"

namespace assay::bench {

namespace fs = std::filesystem;

namespace {

constexpr int kManyHosts = 64;
constexpr int kTurns = 3;
constexpr const char* kStandIn = "ASSAY_STAND_IN_SSH";

std::string ssh_suite(const e2e::SshDaemon& sshd, int hosts, const std::string& more) {
  return "name: b\n" + sshd.cluster(hosts, "connect_timeout: 60s" + more) +
         one_case(hosts, "[/bin/true]");
}

/// Seconds for `ssh HOST true` on this many hosts at once, without any part of Assay.
double bare_ssh_s(const e2e::SshDaemon& sshd, const fs::path& files, int hosts,
                  const std::string& option) {
  const std::int64_t begin = mono_now_ns();
  std::vector<pid_t> children;
  for (int i = 1; i <= hosts; ++i) {
    std::vector<std::string> words = bare_ssh(sshd, files, i, "true");
    if (!option.empty()) words.insert(words.begin() + 1, {"-o", option});
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

/// The times of one way of starting, run by run.
struct Series {
  std::vector<double> one_s;
  std::vector<double> many_s;
  std::vector<double> client_s;  ///< CPU per host of all that runs on the controller, with many
  std::vector<double> server_s;  ///< the same on the hosts

  void print(const char* what) const {
    fmt::print(
        "{}: 1 host {:.2f} s, {} hosts {:.2f} s (ratio {:.1f}); CPU per host {:.0f} ms here, "
        "{:.0f} ms there\n",
        what, median(one_s), kManyHosts, median(many_s), median(many_s) / median(one_s),
        1e3 * median(client_s), 1e3 * median(server_s));
  }
};

class SshStart {
 public:
  SshStart(const fs::path& folder, const e2e::SshDaemon& sshd, std::string option)
      : files_(folder / "sshd"), sshd_(sshd), runs_(folder), option_(std::move(option)) {}

  void measure(const fs::path& folder) {
    for (int i = 0; i < kTurns; ++i) {  // alternating, so that other load affects all alike
      add(bare_, [&](int hosts) { return bare_ssh_s(sshd_, files_, hosts, option_); });
      add(assay_, [&](int hosts) { return runs_.until_ready_s(suite(hosts)); });
    }
    // A client's share of a connection, and how long it waits for the rest.
    const double cpu = median(bare_.client_s);
    const double wait = std::max(0.0, median(bare_.one_s) - cpu);
    fs::create_directories(folder / "stand-in");
    fs::remove(folder / "stand-in/ssh");
    fs::create_symlink(fs::read_symlink("/proc/self/exe"), folder / "stand-in/ssh");
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", ((folder / "stand-in").string() + ":" + path).c_str(), 1);
    ::setenv(kStandIn, fmt::format("{} {}", cpu, wait).c_str(), 1);
    for (int i = 0; i < kTurns; ++i)
      add(alone_, [&](int hosts) { return runs_.until_ready_s(suite(hosts)); });
    ::setenv("PATH", path.c_str(), 1);
    ::unsetenv(kStandIn);
    const std::string with = option_.empty() ? "" : " with " + option_;
    bare_.print(("bare `ssh HOST true`" + with).c_str());
    assay_.print(("assay run → all agents ready" + with).c_str());
    fmt::print("  beyond bare ssh: {:.2f} s for 1 host, {:.2f} s for {}\n",
               median(assay_.one_s) - median(bare_.one_s),
               median(assay_.many_s) - median(bare_.many_s), kManyHosts);
    fmt::print(
        "  hosts with cores of their own (a stand-in for ssh: {:.0f} ms of CPU, {:.0f} ms of "
        "waiting, then the agent): 1 host {:.2f} s, {} hosts {:.2f} s (ratio {:.1f})\n",
        1e3 * cpu, 1e3 * wait, median(alone_.one_s), kManyHosts, median(alone_.many_s),
        median(alone_.many_s) / median(alone_.one_s));
    std::fflush(stdout);
  }

 private:
  [[nodiscard]] std::string suite(int hosts) const {
    return ssh_suite(sshd_, hosts, option_.empty() ? "" : ", options: ['" + option_ + "']");
  }

  template <typename Start>
  void add(Series& series, const Start& start) {
    series.one_s.push_back(start(1));
    const double here = children_cpu_s();
    const double there = cpu_of(sshd_.pid(), true);
    series.many_s.push_back(start(kManyHosts));
    series.client_s.push_back((children_cpu_s() - here) / kManyHosts);
    // The daemon counts a connection once it has reaped it.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    series.server_s.push_back((cpu_of(sshd_.pid(), true) - there) / kManyHosts);
  }

  fs::path files_;
  const e2e::SshDaemon& sshd_;
  Runs runs_;
  std::string option_;
  Series bare_;
  Series assay_;
  Series alone_;
};

}  // namespace

void measure_ssh_start(const fs::path& folder) {
  const e2e::SshDaemon sshd(folder);
  if (!sshd.missing().empty()) return fmt::print("ssh: left out, {}\n", sshd.missing());
  give_an_empty_home(sshd, folder / "sshd");
  Runs runs(folder);
  const double copy_one = runs.until_ready_s(ssh_suite(sshd, 1, ""));
  fs::remove_all(sshd.cache());
  fs::create_directories(sshd.cache());
  const double copy_many = runs.until_ready_s(ssh_suite(sshd, kManyHosts, ""));
  for (const char* option : {"", "KexAlgorithms=^curve25519-sha256"})
    SshStart(folder, sshd, option).measure(folder);
  fmt::print("first time, with the programs copied: 1 host {:.2f} s, {} hosts {:.2f} s\n", copy_one,
             kManyHosts, copy_many);
}

int stand_in_ssh(const std::string& command) {
  const char* setting = std::getenv(kStandIn);
  const auto words = split(setting == nullptr ? "0 0" : setting, ' ');
  const double cpu = std::stod(std::string(words.at(0)));
  const double wait = std::stod(std::string(words.at(1)));
  timespec used{};
  do {
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9 < cpu);
  std::this_thread::sleep_for(std::chrono::duration<double>(wait));
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  return 127;
}

}  // namespace assay::bench
