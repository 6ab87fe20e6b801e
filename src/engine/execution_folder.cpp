#include "engine/execution_folder.h"

#include <array>
#include <atomic>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/regular_file.h"
#include "core/run_layout.h"

namespace assay::engine {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTask = "task.json";
constexpr const char* kAllocation = "allocation.json";
constexpr const char* kBegun = "begun.json";
constexpr const char* kEnd = "end.json";
constexpr const char* kStop = "stop";
constexpr const char* kSecrets = "secrets.json";
constexpr const char* kExecutionLock = "lock";

// That this machine has nothing to spare, or that a file system is away, says nothing of a file.
bool is_passing(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO || error == ESTALE ||
         error == ETIMEDOUT;
}

// The text of a file that decides what becomes of the execution; empty: there is no such file.
// Where that cannot be told now, it is an Error.
std::string read_decisive(const fs::path& file) {
  const UniqueFd fd(
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  const auto failed = [&] {
    return system_error(ErrorKind::environment, "cannot read", file.string(), errno);
  };
  if (!fd && is_passing(errno)) throw failed();
  struct stat about {};
  if (!fd || ::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw failed();
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

template <class T>
std::optional<T> parse_optional(const std::string& text, const fs::path& file) {
  if (text.empty()) return std::nullopt;
  try {
    return fields_from_json<T>(parse_json(text, file.string()), file.string());
  } catch (const Error&) {
    return std::nullopt;
  }
}

template <class T>
std::optional<T> read_optional(const fs::path& file) {
  return parse_optional<T>(read_regular_file_or_empty(file), file);
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

void sync_folder(const fs::path& path) {
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

}  // namespace

std::string secrets_text(const std::map<std::string, std::string>& values) {
  return dump_line(Json(values));
}

std::optional<std::map<std::string, std::string>> parse_secrets(const std::string& text) {
  try {
    std::map<std::string, std::string> out;
    // The text is in no message: it would be written down.
    const Json json = parse_json(text, "secrets");
    for (const auto& [variable, value] : json.items()) {
      if (!value.is_string()) return std::nullopt;
      out[variable] = value.get<std::string>();
    }
    return out;
  } catch (const Error&) {
    return std::nullopt;
  }
}

fs::path ExecutionFolder::run() const {
  std::error_code ec;
  for (fs::directory_iterator at(runs(), ec), end; !ec && at != end; at.increment(ec))
    if (!at->is_symlink(ec) && fs::exists(at->path() / layout::kPlan, ec)) return at->path();
  return {};
}

void ExecutionFolder::write_task(const ControllerTask& task) const {
  write_file_atomic(path_ / kTask, dump_pretty(fields_to_json(task)), /*sync=*/false);
}

std::optional<ControllerTask> ExecutionFolder::task() const {
  return read_optional<ControllerTask>(path_ / kTask);
}

void ExecutionFolder::write_secrets(const std::map<std::string, std::string>& values) const {
  const fs::path file = path_ / kSecrets;
  const fs::path draft = file.string() + ".new";
  ::unlink(draft.c_str());
  const UniqueFd fd(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) throw system_error(ErrorKind::environment, "cannot write", draft.string(), errno);
  write_all(fd.get(), secrets_text(values), draft);
  if (::rename(draft.c_str(), file.c_str()) != 0)
    throw system_error(ErrorKind::environment, "cannot write", file.string(), errno);
}

std::optional<std::map<std::string, std::string>> ExecutionFolder::take_secrets() const {
  const std::string text = read_regular_file_or_empty(path_ / kSecrets);
  remove_secrets();
  return parse_secrets(text);
}

void ExecutionFolder::remove_secrets() const noexcept {
  std::error_code ec;
  fs::remove(path_ / kSecrets, ec);
  fs::remove(path_ / (std::string(kSecrets) + ".new"), ec);
}

void ExecutionFolder::write_allocation(const slurm::Allocation& allocation) const {
  write_file_atomic(path_ / kAllocation, dump_line(fields_to_json(allocation)), /*sync=*/false);
}

std::optional<slurm::Allocation> ExecutionFolder::allocation() const {
  return read_optional<slurm::Allocation>(path_ / kAllocation);
}

bool ExecutionFolder::decide(const Beginning& beginning) const {
  // With its content, and only if there is none yet: link(2) does both at once.
  const fs::path file = path_ / kBegun;
  static std::atomic<int> drafts{0};  // threads of one process must not take each other's away
  const fs::path draft = fmt::format("{}.{}.{}", file.string(), ::getpid(), ++drafts);
  write_file_atomic(draft, dump_line(fields_to_json(beginning)));
  const bool made = ::link(draft.c_str(), file.c_str()) == 0;
  const int error = errno;
  ::unlink(draft.c_str());
  if (!made && error != EEXIST)
    throw system_error(ErrorKind::environment, "cannot write", file.string(), error);
  if (made) sync_folder(path_);
  return made;
}

std::optional<Beginning> ExecutionFolder::beginning() const {
  const fs::path file = path_ / kBegun;
  return parse_optional<Beginning>(read_decisive(file), file);
}

void ExecutionFolder::note_stop() const {
  write_file_atomic(path_ / kStop, "", /*sync=*/false);
}

bool ExecutionFolder::stop_noted() const {
  std::error_code ec;
  return fs::exists(fs::symlink_status(path_ / kStop, ec));
}

void ExecutionFolder::write_end(const ControllerEnd& end) const {
  write_file_atomic(path_ / kEnd, dump_line(fields_to_json(end)));
}

std::optional<ControllerEnd> ExecutionFolder::end() const {
  const fs::path file = path_ / kEnd;
  return parse_optional<ControllerEnd>(read_decisive(file), file);
}

// A lock of the open file: asking for it does not take it, so that nobody is turned away by a
// question.
bool ExecutionFolder::held() const {
  const fs::path file = path_ / kExecutionLock;
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && is_passing(errno))
    throw system_error(ErrorKind::environment, "cannot open the lock", file.string(), errno);
  if (!fd) return false;
  struct flock lock = whole_file();
  if (::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0)
    throw system_error(ErrorKind::environment, "cannot look at the lock", file.string(), errno);
  return lock.l_type != F_UNLCK;
}

ExecutionLock::ExecutionLock(const ExecutionFolder& folder) {
  const fs::path file = folder.path() / kExecutionLock;
  fd_.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd_)
    throw system_error(ErrorKind::environment, "cannot open the lock", file.string(), errno);
  struct flock lock = whole_file();
  if (::fcntl(fd_.get(), F_OFD_SETLK, &lock) != 0)
    throw Error(ErrorKind::environment, "the execution has a controller already", file.string());
}

ControllerEnd end_of(const Error& error) {
  return {.exit_code = exit_code(error.kind()),
          .kind = std::string(to_string(error.kind())),
          .error = error.what()};
}

}  // namespace assay::engine
