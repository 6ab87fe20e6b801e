#include "entry/round_ssh.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/env_names.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/process.h"
#include "core/text.h"
#include "entry/frame.h"
#include "entry/run_as_user.h"

namespace assay::entry {

namespace fs = std::filesystem;

namespace {

constexpr int kFailed = 255;  // ssh's own exit code for this
constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";
// Options that need a real connection: forwarding, other streams, queries to ssh itself.
constexpr std::string_view kForeign = "DGLNOQRVWsw";
constexpr std::size_t kPiece = 16U << 10;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void set_host(SshCall& call, std::string_view text) {
  constexpr std::string_view kScheme = "ssh://";
  const bool address = text.starts_with(kScheme);
  if (address) text.remove_prefix(kScheme.size());
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    call.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  if (address) text = text.substr(0, text.find_first_of(":/"));
  call.host = text;
}

/// Reads the options in `word`, which begins with '-'; `next` is the value, if one follows. Returns
/// true if `next` was used.
bool read_options(SshCall& call, std::string_view word, const std::string* next) {
  for (std::size_t i = 1; i < word.size(); ++i) {
    const char letter = word[i];
    if (kForeign.find(letter) != std::string_view::npos && call.foreign.empty())
      call.foreign = std::string("-") + letter;
    call.no_input = call.no_input || letter == 'n' || letter == 'f';
    call.background = call.background || letter == 'f';
    if (kWithValue.find(letter) == std::string_view::npos) continue;
    const bool apart = i + 1 == word.size();
    const std::string value = !apart            ? std::string(word.substr(i + 1))
                              : next != nullptr ? *next
                                                : "";
    if (letter == 'l') call.user = value;
    return apart && next != nullptr;
  }
  return false;
}

/// Whether `user` is this one, as whom everything in the round runs, under any of its names.
bool is_own_user(const std::string& user) {
  if (user.empty()) return true;
  for (const char* name : {"USER", "LOGNAME", "DLWS_USER_NAME"})
    if (variable(name) == user) return true;
  return false;
}

/// The real ssh: the first one in PATH that is not this program.
std::string real_ssh() {
  const fs::path own = fs::read_symlink("/proc/self/exe");
  const std::string path = variable("PATH");
  for (const std::string_view folder : split(path, ':')) {
    const fs::path candidate = fs::path(folder) / "ssh";
    std::error_code ec;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0 &&
        !fs::equivalent(candidate, own, ec))
      return candidate.string();
  }
  return {};
}

int become_real_ssh(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{real_ssh()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  try {
    if (!words.front().empty()) replace_process(words);
  } catch (const SpawnError&) {  // it has disappeared meanwhile
  }
  fmt::print(stderr, "ssh: not a host of this job, and no other ssh is installed\n");
  return kFailed;
}

UniqueFd connect_to_agent(const fs::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket.string();
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return fd;
}

void put(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) std::_Exit(kFailed);  // nobody reads it any more
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// The caller's side of the conversation; it keeps listening even when nobody listens to it.
class SshConversation {
 public:
  SshConversation(UniqueFd agent, const RemoteCommand& command, bool with_input)
      : agent_(std::move(agent)), input_(with_input) {
    ::fcntl(agent_.get(), F_SETFL, O_NONBLOCK);
    pending_ = frame_bytes(FrameKind::command, dump_line(fields_to_json(command)));
    if (!with_input) pending_ += frame_bytes(FrameKind::end_of_input);
  }

  int run() {
    while (true) {
      std::array<pollfd, 2> ready{
          {{agent_.get(), static_cast<short>(POLLIN | (pending_.empty() ? 0 : POLLOUT)), 0},
           {input_ && pending_.empty() ? STDIN_FILENO : -1, POLLIN, 0}}};
      if (::poll(ready.data(), ready.size(), -1) < 0) continue;
      if ((ready[0].revents & POLLOUT) != 0) write_pending();
      if (ready[1].revents != 0) read_input();
      if ((ready[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        if (const auto code = listen()) return *code;
    }
  }

 private:
  void write_pending() {
    const ssize_t n = ::send(agent_.get(), pending_.data(), pending_.size(), MSG_NOSIGNAL);
    if (n > 0) pending_.erase(0, static_cast<std::size_t>(n));
  }

  void read_input() {
    std::array<char, kPiece> buffer{};
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    input_ = n > 0;
    pending_ += n > 0 ? frame_bytes(FrameKind::input, {buffer.data(), static_cast<std::size_t>(n)})
                      : frame_bytes(FrameKind::end_of_input);
  }

  std::optional<int> listen() {
    std::array<char, 4 * kPiece> buffer{};
    const ssize_t n = ::read(agent_.get(), buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
    if (n <= 0) return failed("the connection within the job was cut");
    reader_.feed({buffer.data(), static_cast<std::size_t>(n)});
    while (const auto frame = reader_.next()) {
      switch (frame->kind) {
        case FrameKind::output:
          put(STDOUT_FILENO, frame->content);
          break;
        case FrameKind::error:
          put(STDERR_FILENO, frame->content);
          break;
        case FrameKind::failure:
          return failed(printable(frame->content));
        case FrameKind::exit: {
          const auto end = fields_from_json<ProgramEnd>(parse_json(frame->content, "end"), "end");
          return end.code ? *end.code : kFailed;  // OpenSSH's code for a signal
        }
        default:
          break;
      }
    }
    return std::nullopt;
  }

  static int failed(std::string_view words) {
    fmt::print(stderr, "ssh: {}\n", words);
    return kFailed;
  }

  UniqueFd agent_;
  bool input_;
  std::string pending_;  // to be sent to the agent
  FrameReader reader_;
};

}  // namespace

SshCall read_ssh_call(const std::vector<std::string>& arguments) {
  SshCall call;
  std::size_t i = 0;
  for (; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      if (++i < arguments.size() && call.host.empty()) set_host(call, arguments[i++]);
      break;
    }
    if (word.size() > 1 && word.front() == '-') {
      if (read_options(call, word, i + 1 < arguments.size() ? &arguments[i + 1] : nullptr)) ++i;
      continue;
    }
    // Options may follow the host; the first other word begins the command.
    if (!call.host.empty()) break;
    set_host(call, word);
  }
  call.command.assign(
      arguments.begin() + static_cast<std::ptrdiff_t>(std::min(i, arguments.size())),
      arguments.end());
  return call;
}

int run_round_ssh(const std::vector<std::string>& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  const SshCall call = read_ssh_call(arguments);
  if (const std::string allowed = variable(kAsUserVariable); !allowed.empty())
    return run_as_user(call, allowed);
  const fs::path folder = variable(kSshFolderVariable);
  const Json hosts =
      parse_json_or_null(folder.empty() ? "" : read_file_or_empty(folder / kSshHosts));
  if (call.host.empty() || !hosts.is_object() || !hosts.contains(call.host))
    return become_real_ssh(arguments);
  const auto refuse = [&](const std::string& words) {
    fmt::print(stderr, "ssh: {}: {}\n", call.host, words);
    return kFailed;
  };
  if (!call.foreign.empty())
    return refuse(fmt::format("{} is not possible within a job", call.foreign));
  if (!is_own_user(call.user))
    return refuse(fmt::format("within a job everything runs as one user, not as '{}'", call.user));
  if (call.command.empty() && ::isatty(STDIN_FILENO) != 0 && !call.no_input)
    return refuse(
        "there are no terminals from one node of a job to another; 'assay ssh JOB --rank "
        "N' opens one");
  // Must come first, because the agent examines the connecting process.
  if (call.background && ::fork() > 0) return 0;
  UniqueFd agent = connect_to_agent(folder / kSshSocket);
  if (!agent) return refuse("the job's agent does not answer here: the job is about to end");
  return SshConversation(std::move(agent), {call.host, join(call.command, " ")}, !call.no_input)
      .run();
}

}  // namespace assay::entry
