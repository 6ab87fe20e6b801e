#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/files.h"
#include "core/parse_number.h"
#include "core/process.h"
#include "core/regular_file.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "entry/node_command.h"
#include "entry/port_owner.h"
#include "entry/round_watch.h"
#include "transfer/stream.h"

namespace assay::entry {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kStartLimit = std::chrono::seconds(60);
constexpr std::size_t kLogShown = 2000;

/// A program that people use beside a job. It listens on a socket that only its user can open, so
/// it needs no password; if the program cannot do that, on a port of the loopback address.
struct Service {
  const char* name;
  const char* title;
  std::vector<std::vector<std::string>> commands;  ///< the first installed one is used
};

// {socket}, {port}, {folder} and {logs} are replaced.
const std::vector<Service>& services() {
  static const std::vector<Service> all{
      {"jupyter",
       "Jupyter",
       {{"jupyter-lab", "--no-browser", "--allow-root", "--ServerApp.sock={socket}",
         "--ServerApp.sock_mode=0600", "--ServerApp.token=", "--ServerApp.password=",
         "--ServerApp.allow_remote_access=True", "--ServerApp.root_dir={folder}"},
        {"jupyter-notebook", "--no-browser", "--allow-root", "--NotebookApp.sock={socket}",
         "--NotebookApp.sock_mode=0600", "--NotebookApp.token=", "--NotebookApp.password=",
         "--NotebookApp.allow_remote_access=True", "--NotebookApp.notebook_dir={folder}",
         "--ServerApp.sock={socket}", "--ServerApp.sock_mode=0600",
         "--ServerApp.token=", "--ServerApp.password=", "--ServerApp.allow_remote_access=True",
         "--ServerApp.root_dir={folder}"}}},
      {kShowsCurves,
       "TensorBoard",
       {{"tensorboard", "--host=127.0.0.1", "--port={port}", "--logdir={logs}"}}},
      {"vscode",
       "code-server",
       {{"code-server", "--socket={socket}", "--socket-mode=600", "--auth=none",
         "--disable-telemetry", "--disable-update-check", "{folder}"}}}};
  return all;
}

const Service& service_named(const std::string& name) {
  for (const Service& service : services())
    if (name == service.name) return service;
  throw Error(ErrorKind::usage, "there is no service '" + printable(name) + "'");
}

/// A folder for this user alone, created if missing.
fs::path private_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw system_error(ErrorKind::environment, "cannot make a folder", path.string(), errno);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid() || (status.st_mode & 077U) != 0)
    throw Error(ErrorKind::environment, "somebody else has made the folder of services",
                path.string());
  return path;
}

/// Short, because socket paths are limited to 108 bytes.
fs::path folder_of(const NodeRequest& request) {
  const fs::path all = private_folder(fmt::format("/tmp/assay-entry-{}", ::geteuid()));
  return private_folder(all / (sha256(request.round).substr(0, 16) + "-" + request.service));
}

UniqueFd connect_to_socket(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, text.data(), text.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
             ? std::move(fd)
             : UniqueFd();
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int free_port() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd.get(), generic, size) != 0 || ::getsockname(fd.get(), generic, &size) != 0)
    throw system_error(ErrorKind::environment, "there is no free port", "", errno);
  return ntohs(address.sin_port);
}

/// Connects to the socket or the port, whichever the service has.
UniqueFd connect_to_either(const fs::path& folder, const NodeRequest& request,
                           const RankPlace& place) {
  if (UniqueFd fd = connect_to_socket(folder / "socket")) return fd;
  const std::string text = read_regular_file_or_empty(folder / "port");
  const auto port = parse_number<int>(trim(text));
  if (!port) return {};
  const sockaddr_in address = loopback(*port);
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool connected =
      fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  // A port that its service has left may be another job's by now.
  return connected && port_belongs_to(request.round, place, *port) ? std::move(fd) : UniqueFd();
}

std::string end_of_log(const fs::path& folder) {
  const std::string log = read_regular_file_or_empty(folder / "log");
  return log.substr(log.size() > kLogShown ? log.size() - kLogShown : 0);
}

fs::path curves_of(const fs::path& folder) {
  return folder / "logs" / "assay";
}

/// One folder with the job's own curves and those of Assay: a program that shows curves takes one,
/// and follows links in it.
std::string logs_of(const RankPlace& place, const fs::path& folder) {
  const fs::path usual =
      fs::path(place.variable("HOME")) / "tensorboard" /
      (place.variable("ASSAY_JOB_ID").empty() ? "-" : place.variable("ASSAY_JOB_ID")) / "logs";
  std::error_code ignored;
  const fs::path own = fs::is_directory(usual, ignored) ? usual : fs::path(place.folder);
  const fs::path job = folder / "logs" / "job";
  fs::create_directories(curves_of(folder), ignored);
  fs::remove(job, ignored);
  std::error_code ec;
  fs::create_directory_symlink(own, job, ec);
  return ec ? own.string() : (folder / "logs").string();
}

/// Starts the program; returns nothing if it is not installed.
std::optional<Child> start_program(const Service& service, const RankPlace& place,
                                   const fs::path& folder) {
  for (const std::vector<std::string>& command : service.commands) {
    int port = 0;
    std::vector<std::string> argv;
    const bool shows_curves =
        std::ranges::any_of(command, [](const auto& word) { return word.ends_with("{logs}"); });
    for (const std::string& word : command) {
      if (word.find("{port}") != std::string::npos) port = free_port();
      argv.push_back(expand(word,
                            {{"socket", (folder / "socket").string()},
                             {"port", std::to_string(port)},
                             {"folder", place.folder},
                             {"logs", shows_curves ? logs_of(place, folder) : ""}},
                            service.name));
    }
    if (port != 0) write_file_atomic(folder / "port", std::to_string(port), /*sync=*/false);
    try {
      return spawn({.argv = std::move(argv),
                    .env = place.env,
                    .folder = place.folder,
                    .out = Stream::append(folder / "log", 0600),
                    .err = Stream::output(),
                    .group = Group::session,
                    .dies_with_parent = false});
    } catch (const SpawnError& error) {
      if (!error.not_found()) throw;
    }
  }
  return std::nullopt;
}

/// Runs in its own process, so that the program ends with the round. Never returns.
[[noreturn]] void watch_service(Child program, const NodeRequest& request, const RankPlace& place,
                                const fs::path& folder) {
  RoundWatch round(request.round, place.pid);
  std::optional<ExitStatus> end;
  while (!(end = program.poll()) && !round.over()) ::poll(nullptr, 0, 200);
  if (end) {
    write_file_atomic(folder / "ended", to_string(*end), /*sync=*/false);
    // Somebody may want to know the reason until the round is over.
    while (!round.over()) {
      pollfd one{round.descriptor(), POLLIN, 0};
      ::poll(&one, 1, 1000);
    }
  } else {
    program.signal(SIGTERM);
    if (!program.wait_for(std::chrono::seconds(5))) program.signal(SIGKILL);
  }
  // A service started since then is cleaned up by its own watcher.
  if (!connect_to_either(folder, request, place)) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  ::_exit(0);
}

void start_service(const NodeRequest& request, const RankPlace& place, const fs::path& folder) {
  const Service& service = service_named(request.service);
  std::error_code ignored;
  for (const char* file : {"ended", "socket", "port", "log"}) fs::remove(folder / file, ignored);
  const pid_t watcher = ::fork();
  if (watcher < 0) throw system_error(ErrorKind::environment, "cannot start", service.name, errno);
  if (watcher != 0) return;
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  // Including the lock. An old kernel closes them one by one.
  if (::close_range(3, ~0U, 0) != 0)
    for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  try {
    auto program = start_program(service, place, folder);
    if (program) watch_service(std::move(*program), request, place, folder);
    write_file_atomic(folder / "ended", "not installed", /*sync=*/false);
  } catch (const std::exception& error) {
    try {
      write_file_atomic(folder / "ended", error.what(), /*sync=*/false);
    } catch (const Error&) {
      ::_exit(1);
    }
  }
  ::_exit(0);
}

Obstructed ended(const Service& service, const fs::path& folder) {
  const std::string how = read_regular_file_or_empty(folder / "ended");
  if (how == "not installed")
    return {{Obstacle::not_installed,
             fmt::format("{} is not installed on the node: there is no program '{}' in the PATH of "
                         "the job",
                         service.title, service.commands.back().front())}};
  return {{Obstacle::ended, fmt::format("{} has ended: {}", service.title, printable(how)),
           end_of_log(folder)}};
}

}  // namespace

int take_curves(const NodeRequest& request) {
  const fs::path folder = curves_of(folder_of(request));
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (ec)
    throw Error(ErrorKind::environment, "cannot make a folder: " + ec.message(), folder.string());
  answer({.have = transfer::list_files(folder)});
  transfer::Receiver receiver(folder);
  std::array<char, 64U << 10> buffer{};
  while (!receiver.complete()) {
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 1;
    receiver.feed({buffer.data(), static_cast<std::size_t>(n)});
  }
  return 0;
}

UniqueFd connect_to_service(const NodeRequest& request, const RankPlace& place) {
  const Service& service = service_named(request.service);
  const fs::path folder = folder_of(request);
  if (UniqueFd fd = connect_to_either(folder, request, place)) return fd;
  std::error_code ignored;
  const bool has_ended = fs::exists(folder / "ended", ignored);
  if (!request.start) {
    if (has_ended) throw ended(service, folder);
    throw Obstructed{{Obstacle::not_started, fmt::format("{} does not run", service.title)}};
  }
  // Ensures that only one of several callers starts it.
  const UniqueFd lock(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0)
    throw system_error(ErrorKind::environment, "cannot lock", (folder / "lock").string(), errno);
  if (UniqueFd fd = connect_to_either(folder, request, place)) return fd;
  start_service(request, place, folder);
  const std::int64_t deadline = mono_now_ns() + kStartLimit.count();
  while (mono_now_ns() < deadline) {
    if (UniqueFd fd = connect_to_either(folder, request, place)) return fd;
    if (fs::exists(folder / "ended", ignored)) throw ended(service, folder);
    ::poll(nullptr, 0, 50);
  }
  throw Obstructed{
      {Obstacle::failed, fmt::format("{} does not answer yet", service.title), end_of_log(folder)}};
}

}  // namespace assay::entry
