#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "client/entry_stream.h"
#include "client/server_choice.h"
#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/platform/platform_client.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "entry/frame.h"

namespace assay::commands {

namespace fs = std::filesystem;

namespace {

using entry::FrameKind;

struct SshArguments {
  ServerOptions server;
  jobs::JobId id = 0;
  std::optional<int> rank;
  bool terminal = false;
  bool no_terminal = false;
  bool stdio = false;
  bool config = false;
  std::vector<std::string> command;
};

/// While it lives, the terminal passes on input byte by byte.
class RawTerminal {
 public:
  RawTerminal() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }

 private:
  termios before_{};
  bool changed_ = false;
};

entry::Window window() {
  winsize size{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {size.ws_col, size.ws_row};
}

void put(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(ErrorKind::environment, "the output cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Talks to a program in a job until it has ended.
class Session {
 public:
  Session(client::EntryStream& stream, const entry::ProgramRequest& request, bool with_input)
      : stream_(stream), terminal_(request.terminal) {
    stream_.write(entry::frame_bytes(FrameKind::command, dump_line(fields_to_json(request))));
    if (!with_input) end_input();
    sigset_t resized;
    sigemptyset(&resized);
    sigaddset(&resized, SIGWINCH);
    ::sigprocmask(SIG_BLOCK, &resized, nullptr);
    resized_.reset(::signalfd(-1, &resized, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  /// The destination of the output; by default this program's own.
  std::string* keep = nullptr;

  int run() {
    while (true) {
      while (const auto bytes = stream_.read()) {
        if (bytes->empty())
          throw Error(ErrorKind::launch, "the connection to the job was cut", {},
                      "the job may have ended: 'assay job' says more");
        reader_.feed(*bytes);
        while (const auto frame = reader_.next())
          if (const auto code = take(*frame)) return *code;
      }
      wait();
    }
  }

 private:
  std::optional<int> take(const entry::Frame& frame) {
    switch (frame.kind) {
      case FrameKind::output:
        if (keep != nullptr)
          *keep += frame.content;
        else
          put(STDOUT_FILENO, frame.content);
        return std::nullopt;
      case FrameKind::error:
        put(STDERR_FILENO, frame.content);
        return std::nullopt;
      case FrameKind::failure:
        throw Error(ErrorKind::launch, printable(frame.content));
      case FrameKind::exit: {
        const auto end =
            fields_from_json<entry::ProgramEnd>(parse_json(frame.content, "end"), "end");
        return end.code ? *end.code : 128 + end.signal.value_or(0);
      }
      default:
        return std::nullopt;
    }
  }

  void wait() {
    std::array<pollfd, 3> ready{{{stream_.descriptor(), POLLIN, 0},
                                 {input_ ? STDIN_FILENO : -1, POLLIN, 0},
                                 {terminal_ ? resized_.get() : -1, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) <= 0) return;
    if (ready[1].revents != 0) {
      std::array<char, 32U << 10> buffer{};
      const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (n > 0)
        stream_.write(
            entry::frame_bytes(FrameKind::input, {buffer.data(), static_cast<std::size_t>(n)}));
      else if (n == 0 || errno != EINTR)
        end_input();
    }
    if (ready[2].revents != 0) {
      signalfd_siginfo ignored{};
      while (::read(resized_.get(), &ignored, sizeof ignored) > 0) {
      }
      stream_.write(entry::frame_bytes(FrameKind::window, dump_line(fields_to_json(window()))));
    }
  }

  void end_input() {
    input_ = false;
    stream_.write(entry::frame_bytes(FrameKind::end_of_input));
  }

  client::EntryStream& stream_;
  bool terminal_;
  bool input_ = true;
  UniqueFd resized_;
  entry::FrameReader reader_;
};

int enter(const client::Client& client, const SshArguments& given) {
  entry::ProgramRequest request;
  const bool at_terminal = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  request.terminal = given.terminal || (given.command.empty() && at_terminal && !given.no_terminal);
  // As in ssh, the words form one line for the shell there.
  if (!given.command.empty()) request.argv = {"/bin/sh", "-c", join(given.command, " ")};
  const entry::Window size = window();
  request.columns = size.columns;
  request.rows = size.rows;
  if (const char* term = std::getenv("TERM"); term != nullptr && *term != '\0') request.term = term;
  client::EntryStream stream(client.connection(), given.id, given.rank);
  std::optional<RawTerminal> raw;
  if (request.terminal && at_terminal) raw.emplace();
  return Session(stream, request, true).run();
}

fs::path key_file() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  return (config != nullptr && *config != '\0'
              ? fs::path(config)
              : fs::path(home == nullptr ? "/" : home) / ".config") /
         "assay" / "ssh_key";
}

/// The key with which this user enters jobs; created if missing.
std::string public_key() {
  const fs::path file = key_file();
  if (!fs::exists(file)) {
    make_directories(file.parent_path());
    const CommandResult made = run_command(
        {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "assay", "-f", file.string()});
    if (!made.ok())
      throw Error(ErrorKind::environment, "a key for SSH cannot be made: " + printable(made.err),
                  file.string(),
                  "install the package 'openssh-client'; 'assay ssh JOB' works without");
  }
  return std::string(trim(read_file(file.string() + ".pub")));
}

std::string remote_user(const client::Client& client, const SshArguments& given) {
  client::EntryStream stream(client.connection(), given.id, given.rank);
  std::string name;
  Session session(stream, {.argv = {"id", "-un"}}, false);
  session.keep = &name;
  if (session.run() != 0 || trim(name).empty())
    throw Error(ErrorKind::launch, "the user of the job is not known");
  return printable(trim(name));
}

int print_config(const client::Client& client, const SshArguments& given) {
  (void)public_key();
  const std::string place = given.rank ? fmt::format(" --rank {}", *given.rank) : "";
  // The file is read in other shells and folders, so it names the server wherever its address came
  // from here.
  const client::Server& found = client.connection().server();
  const std::string server = " --server " + shell_quote(found.url);
  const std::string ca =
      found.ca_file.empty()
          ? ""
          : " --ca " + shell_quote(std::filesystem::absolute(found.ca_file).string());
  // The token of a server that was found in this folder is found from no other folder.
  const bool by_folder =
      found.source == (std::filesystem::path(client::kDefaultData) / "server.json").string();
  if (const char* token = std::getenv("ASSAY_TOKEN"); token != nullptr && *token != '\0')
    tell_error(
        "note: the configuration holds no token: set ASSAY_TOKEN where ssh runs, or sign in with "
        "'assay login'\n");
  const std::string from =
      by_folder ? "env -C " + shell_quote(std::filesystem::current_path().string()) + " " : "";
  say(
      fmt::format("Host job-{0}{1}\n"
                  "  User {2}\n"
                  "  ProxyCommand {8}{3} ssh {0}{4}{5}{6} --stdio\n"
                  "  IdentityFile {7}\n"
                  "  IdentitiesOnly yes\n"
                  // The server, which has authenticated this user, makes the connection: no other
                  // host could answer, and the job's key is created for it.
                  "  StrictHostKeyChecking no\n"
                  "  UserKnownHostsFile /dev/null\n"
                  "  LogLevel ERROR\n",
                  given.id, given.rank ? fmt::format("-rank-{}", *given.rank) : "",
                  remote_user(client, given), shell_quote((program_folder() / "assay").string()),
                  place, server, ca, shell_quote(key_file().string()), from));
  return 0;
}

/// For a ProxyCommand: only raw bytes.
int carry(const client::Client& client, const SshArguments& given) {
  client::EntryStream stream(client.connection(), given.id, given.rank, public_key());
  bool input = true;
  while (true) {
    while (const auto bytes = stream.read()) {
      if (bytes->empty()) return 0;
      put(STDOUT_FILENO, *bytes);
    }
    std::array<pollfd, 2> ready{
        {{stream.descriptor(), POLLIN, 0}, {input ? STDIN_FILENO : -1, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) <= 0 || ready[1].revents == 0) continue;
    std::array<char, 64U << 10> buffer{};
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n > 0) stream.write({buffer.data(), static_cast<std::size_t>(n)});
    if (n == 0) return 0;
  }
}

int run_ssh(const SshArguments& given) {
  std::signal(SIGPIPE, SIG_IGN);
  const client::Client client = make_client(given.server);
  if (given.config) return print_config(client, given);
  if (given.stdio) return carry(client, given);
  return enter(client, given);
}

}  // namespace

void add_ssh(CLI::App& app, Action& action) {
  const auto given = std::make_shared<SshArguments>();
  CLI::App* command = add_known(app, "ssh");
  command->add_option("job", given->id, "Its number")->required()->type_name("JOB");
  command->add_option("command", given->command, "What to run there; else a shell")
      ->type_name("COMMAND");
  command->add_option("--rank", given->rank, "Beside this rank; else the first that runs")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* terminal =
      command->add_flag("-t,--terminal", given->terminal, "On a terminal, also a command");
  command->add_flag("-T,--no-terminal", given->no_terminal, "On none, also a shell")
      ->excludes(terminal);
  CLI::Option* config =
      command->add_flag("--print-config", given->config,
                        "Print what ~/.ssh/config needs for a plain ssh, scp, rsync");
  command->add_flag("--stdio", given->stdio, "Be the ProxyCommand of a plain ssh")
      ->excludes(config);
  command->add_option("--server", given->server.url, "Address of the server")->type_name("URL");
  command->add_option("--ca", given->server.ca, "Certificate to trust, PEM")->type_name("FILE");
  command->footer(std::string("Examples:\n"
                              "  assay ssh 17\n"
                              "  assay ssh --rank 3 17 nvidia-smi\n"
                              "  assay ssh 17 -- tail -f train.log\n"
                              "  assay ssh --print-config 17 >> ~/.ssh/config && ssh job-17\n") +
                  kServerHelp +
                  "\nElse the exit code is that of the command, or 128 and its signal.");
  command->callback([given, &action] { action = [given] { return run_ssh(*given); }; });
}

}  // namespace assay::commands
