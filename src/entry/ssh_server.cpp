#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/process.h"
#include "core/scratch_folder.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"
#include "entry/node_command.h"
#include "entry/round_watch.h"
#include "entry/ssh_config.h"

namespace assay::entry {

namespace fs = std::filesystem;

namespace {

std::string sshd_program() {
  for (const char* path : {"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"})
    if (::access(path, X_OK) == 0) return path;
  throw Obstructed{{Obstacle::not_installed,
                    "sshd is not installed on the node; 'assay ssh JOB' works without it"}};
}

std::string sftp_server_program() {
  for (const char* path : {"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server",
                           "/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server"})
    if (::access(path, X_OK) == 0) return path;
  return "";
}

// sshd splits its sftp's arguments at blanks and expands "%x".
bool is_plain_argument(const std::string& path) {
  return !path.empty() && path.find_first_of(" \t\r\n\"\\%#") == std::string::npos;
}

}  // namespace

std::string begin_script(const RankPlace& place) {
  return fmt::format(
      "cd -- {} 2>/dev/null\n"
      "[ -n \"$SSH_ORIGINAL_COMMAND\" ] || exec \"${{SHELL:-/bin/sh}}\" -l\n"
      "exec \"${{SHELL:-/bin/sh}}\" -c \"$SSH_ORIGINAL_COMMAND\"\n",
      shell_quote(place.folder));
}

std::string sshd_config(const fs::path& folder, const RankPlace& place,
                        const std::string& sftp_server) {
  std::string out = fmt::format(
      "HostKey {0}/host_key\nAuthorizedKeysFile {0}/authorized_keys\n"
      "PidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nPrintMotd no\n"
      "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPubkeyAuthentication yes\n"
      "PermitRootLogin prohibit-password\nPermitUserEnvironment no\nX11Forwarding no\n",
      folder.string());
  if (!sftp_server.empty())
    out += fmt::format("Subsystem sftp {}\nForceCommand exec /bin/sh {}/begin\n", sftp_server,
                       folder.string());
  else
    out += "Subsystem sftp internal-sftp" +
           (is_plain_argument(place.folder) ? " -d " + place.folder : "") + "\n";
  std::string variables;
  for (const std::string& entry : place.env) {
    bool plain = true;
    std::string quoted;
    for (const char c : entry) {
      plain = plain && static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    // sshd allows only one such line.
    if (plain) variables += " \"" + quoted + "\"";
  }
  if (!variables.empty()) out += "SetEnv" + variables + "\n";
  return out;
}

int serve_ssh(const NodeRequest& request, const RankPlace& place) {
  const std::string sshd = sshd_program();
  const ScratchFolder keys("/tmp", "assay-sshd");
  if (::geteuid() == 0) (void)::mkdir("/run/sshd", 0755);  // sshd's, if it is no service
  const CommandResult made = run_command({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C",
                                          "job", "-f", (keys.path() / "host_key").string()});
  if (!made.ok())
    throw Obstructed{{Obstacle::not_installed, "ssh-keygen cannot be used on the node"}};
  write_file_atomic(keys.path() / "authorized_keys", request.key + "\n", /*sync=*/false);
  write_file_atomic(keys.path() / "begin", begin_script(place), /*sync=*/false);
  write_file_atomic(keys.path() / "sshd_config",
                    sshd_config(keys.path(), place, sftp_server_program()), /*sync=*/false);
  answer({});
  RoundWatch round(request.round, place.pid);
  Child server = spawn({.argv = {sshd, "-i", "-e", "-f", (keys.path() / "sshd_config").string()},
                        .env = place.env,
                        .in = Stream::inherit(),
                        .out = Stream::inherit(),
                        .group = Group::session});
  // sshd has the stream: this process must not hold it open.
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  while (!server.poll() && !round.over()) ::poll(nullptr, 0, 100);
  return 0;
}

}  // namespace assay::entry
