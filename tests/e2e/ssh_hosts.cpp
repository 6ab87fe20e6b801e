#include "ssh_hosts.h"

#include <fstream>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"

namespace assay::e2e {

namespace {

int free_port() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd.get(), generic, length) != 0) return 0;
  ::getsockname(fd.get(), generic, &length);
  return ntohs(address.sin_port);
}

bool answers(int port) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

void make_key(const fs::path& path) {
  (void)run_command({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path.string()});
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? "root" : entry->pw_name;
}

}  // namespace

SshDaemon::SshDaemon(const fs::path& folder) : folder_(folder / "sshd") {
  const std::string program = "/usr/sbin/sshd";  // sshd insists on an absolute path
  if (!fs::exists(program) || !find_program("ssh") || !find_program("ssh-keygen")) {
    missing_ = "openssh-server is not installed";
    return;
  }
  fs::create_directories(folder_);
  fs::create_directories(cache());
  if (::getuid() == 0) fs::create_directories("/run/sshd");
  make_key(folder_ / "host_key");
  make_key(folder_ / "user_key");
  fs::copy_file(folder_ / "user_key.pub", folder_ / "authorized_keys");
  port_ = free_port();
  std::ofstream(folder_ / "sshd_config")
      << "Port " << port_ << "\nListenAddress 0.0.0.0\nHostKey " << (folder_ / "host_key").string()
      << "\nAuthorizedKeysFile " << (folder_ / "authorized_keys").string()
      << "\nPidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nPasswordAuthentication no\n"
         "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
         "MaxStartups 400\nMaxSessions 100\nPrintMotd no\n";
  const std::string key = read_file(folder_ / "host_key.pub");
  std::ofstream known(folder_ / "known_hosts");
  for (int i = 1; i <= 100; ++i) known << "[" << host(i) << "]:" << port_ << " " << key;
  known.close();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setsid();
    const int log = ::open((folder_ / "sshd.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(log, STDERR_FILENO);
    ::execl(program.c_str(), "/usr/sbin/sshd", "-D", "-e", "-f", (folder_ / "sshd_config").c_str(),
            nullptr);
    ::_exit(127);
  }
  if (!eventually([this] { return answers(port_); }))
    missing_ = "sshd does not start: " + read_file_or_empty(folder_ / "sshd.log");
}

SshDaemon::~SshDaemon() {
  kill_all();
}

void SshDaemon::kill_all() {
  if (pid_ <= 0) return;
  const std::vector<pid_t> sessions = descendants_of(pid_);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  for (const pid_t session : sessions)
    if (read_file_or_empty("/proc/" + std::to_string(session) + "/comm").starts_with("sshd"))
      ::kill(session, SIGKILL);
  pid_ = -1;
}

std::string SshDaemon::cluster(int hosts, const std::string& more) const {
  std::string text = "cluster:\n  launcher: ssh\n  hosts: [";
  for (int i = 1; i <= hosts; ++i) text += (i == 1 ? "" : ", ") + host(i);
  return text + "]\n  ssh: {user: " + user_name() + ", port: " + std::to_string(port_) +
         ", identity: " + (folder_ / "user_key").string() +
         ", known_hosts: " + (folder_ / "known_hosts").string() + ", config: /dev/null, cache: '" +
         (cache() / "{host}").string() + "'" + (more.empty() ? "" : ", " + more) + "}\n";
}

}  // namespace assay::e2e
