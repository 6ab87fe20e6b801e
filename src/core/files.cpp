#include "core/files.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/time.h"

namespace assay {

namespace fs = std::filesystem;

void UniqueFd::reset(int fd) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw system_error(ErrorKind::environment, "cannot make a pipe", {}, errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

namespace {

// 0 or errno.
int read_into(const fs::path& path, std::string& out) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n == 0) return 0;
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    out.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::string content;
  if (const int error = read_into(path, content); error != 0)
    throw system_error(ErrorKind::environment, "cannot read the file", path.string(), error);
  return content;
}

std::string read_file_or_empty(const fs::path& path) {
  std::string content;
  if (read_into(path, content) != 0) return {};
  return content;
}

void write_all(int fd, std::string_view data, const fs::path& path) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      throw system_error(ErrorKind::environment, "cannot write", path.string(), errno);
    }
    data.remove_prefix(static_cast<std::size_t>(n));
  }
}

void sync_to_disk(const fs::path& path) {
  const auto sync_one = [](const fs::path& one, int flags) {
    const UniqueFd fd(::open(one.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS)
      throw system_error(ErrorKind::environment, "cannot sync", one.string(), errno);
  };
  std::error_code ec;
  const fs::file_status status = fs::symlink_status(path, ec);
  if (fs::is_regular_file(status)) sync_one(path, O_RDONLY);
  if (!fs::is_directory(status)) return;
  for (const auto& entry : fs::directory_iterator(path, ec)) sync_to_disk(entry.path());
  sync_one(path, O_RDONLY | O_DIRECTORY);
}

void write_file_atomic(const fs::path& path, std::string_view content, bool sync) {
  const fs::path temporary = fmt::format("{}.{}-{}.tmp", path.string(), ::getpid(), mono_now_ns());
  try {
    const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd)
      throw system_error(ErrorKind::environment, "cannot create the file", path.string(), errno);
    write_all(fd.get(), content, path);
    if (sync && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS)
      throw system_error(ErrorKind::environment, "cannot sync", path.string(), errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throw system_error(ErrorKind::environment, "cannot replace the file", path.string(), errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void make_directories(const fs::path& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec)
    throw system_error(ErrorKind::environment, "cannot create the folder", path.string(),
                       ec.value());
}

}  // namespace assay
