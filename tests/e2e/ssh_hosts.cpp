#include "e2e/ssh_hosts.h"

#include <fstream>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "needs.h"
#include "ports.h"
#include "send_signal.h"

namespace assay::e2e {

namespace {

void make_key(const fs::path& path) {
  (void)run_command({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path.string()});
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? "root" : entry->pw_name;
}

// sshd insists on an absolute path.
constexpr const char* kSshd = "/usr/sbin/sshd";

}  // namespace

std::string missing_for_ssh() {
  const bool there = fs::exists(kSshd) && find_program("ssh") && find_program("ssh-keygen");
  return there ? "" : needs::package("openssh-client openssh-server");
}

UniqueFd connect_to(const std::string& address, int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1 ||
      ::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    return {};
  return fd;
}

bool takes_connections(const std::string& address, int port) {
  return connect_to(address, port).get() >= 0;
}

void make_ssh_files(const fs::path& folder, int port) {
  if (::getuid() == 0) fs::create_directories("/run/sshd");
  make_key(folder / "host_key");
  make_key(folder / "user_key");
  fs::copy_file(folder / "user_key.pub", folder / "authorized_keys");
  std::ofstream(folder / "sshd_config")
      << "Port " << port << "\nListenAddress 0.0.0.0\nHostKey " << (folder / "host_key").string()
      << "\nAuthorizedKeysFile " << (folder / "authorized_keys").string()
      << "\nPidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nPasswordAuthentication no\n"
         "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
         "MaxStartups 400\nMaxSessions 100\nPrintMotd no\n";
}

pid_t start_sshd(const fs::path& folder, const fs::path& log,
                 const std::vector<std::string>& prefix) {
  std::vector<std::string> words = prefix;
  // Not -e: with its words on standard error Ubuntu's OpenSSH 9.6 forgets whom MaxStartups counts.
  for (const std::string& word :
       {std::string(kSshd), std::string("-D"), std::string("-E"), log.string(), std::string("-f"),
        (folder / "sshd_config").string()})
    words.push_back(word);
  std::ofstream(log).close();
  return spawn({.argv = std::move(words),
                .err = Stream::append(log, 0644),
                .group = Group::session,
                .dies_with_parent = false})
      .release();
}

void kill_sshd(pid_t pid) {
  if (pid <= 0) return;
  const std::vector<pid_t> sessions = descendants_of(pid);
  send_signal(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  for (const pid_t session : sessions)
    if (read_file_or_empty("/proc/" + std::to_string(session) + "/comm").starts_with("sshd"))
      send_signal(session, SIGKILL);
}

std::string ssh_settings(const fs::path& folder, int port, const fs::path& cache,
                         const std::string& more) {
  return "ssh: {user: " + user_name() + ", port: " + std::to_string(port) +
         ", identity: " + (folder / "user_key").string() +
         ", known_hosts: " + (folder / "known_hosts").string() + ", config: /dev/null, cache: '" +
         (cache / "{host}").string() + "'" + (more.empty() ? "" : ", " + more) + "}\n";
}

SshDaemon::SshDaemon(const fs::path& folder) : folder_(folder / "sshd") {
  missing_ = missing_for_ssh();
  if (!missing_.empty()) return;
  fs::create_directories(cache());
  port_ = testing::reserved_port();
  make_ssh_files(folder_, port_);
  const std::string key = read_file(folder_ / "host_key.pub");
  std::ofstream known(folder_ / "known_hosts");
  for (int i = 1; i <= 100; ++i) known << "[" << host(i) << "]:" << port_ << " " << key;
  known.close();
  pid_ = start_sshd(folder_, folder_ / "sshd.log");
  if (!eventually([this] { return takes_connections("127.0.0.1", port_); }))
    missing_ = needs::repair("sshd: " + read_file_or_empty(folder_ / "sshd.log"));
}

SshDaemon::~SshDaemon() {
  kill_all();
}

void SshDaemon::kill_all() {
  kill_sshd(pid_);
  pid_ = -1;
}

std::string SshDaemon::cluster(int hosts, const std::string& more) const {
  std::string text = "cluster:\n  launcher: ssh\n  hosts: [";
  for (int i = 1; i <= hosts; ++i) text += (i == 1 ? "" : ", ") + host(i);
  return text + "]\n  " + ssh_settings(folder_, port_, cache(), more);
}

void SshTest::SetUp() {
  AssayTest::SetUp();
  if (!sshd_.missing().empty()) GTEST_SKIP() << sshd_.missing();
}

void SshTest::TearDown() {
  AssayTest::TearDown();
  EXPECT_TRUE(eventually([this] { return processes_with(sshd_.cache().string()).empty(); }));
}

}  // namespace assay::e2e
