#include "core/regular_file.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

namespace assay {

namespace {

Error irregular(const std::filesystem::path& path) {
  return {ErrorKind::environment, "not a regular file", path.string(),
          "restore the file from a copy"};
}

// `links`: O_NOFOLLOW, or 0 to follow them.
UniqueFd open_plain(const std::filesystem::path& path, int links) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | links));
  if (!fd) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) return fd;
    // ELOOP: a link; ENXIO: a socket, or a device without a driver.
    if (error == ELOOP || error == ENXIO) throw irregular(path);
    throw system_error(ErrorKind::environment, "cannot read the file", path.string(), error);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0)
    throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
  if (!S_ISREG(info.st_mode)) throw irregular(path);
  return fd;
}

std::string content_of(const UniqueFd& fd, const std::filesystem::path& path) {
  if (!fd)
    throw system_error(ErrorKind::environment, "cannot read the file", path.string(), ENOENT);
  std::string content;
  std::vector<char> buffer(std::size_t{1} << 16);
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n == 0) return content;
    if (n < 0 && errno != EINTR)
      throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
    if (n > 0) content.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

UniqueFd open_regular_file(const std::filesystem::path& path) {
  return open_plain(path, O_NOFOLLOW);
}

std::string read_regular_file(const std::filesystem::path& path) {
  return content_of(open_regular_file(path), path);
}

std::string read_regular_file_or_empty(const std::filesystem::path& path) {
  try {
    return read_regular_file(path);
  } catch (const Error&) {
    return {};
  }
}

std::string read_plain_file(const std::filesystem::path& path) {
  return content_of(open_plain(path, 0), path);
}

std::string read_plain_file_or_empty(const std::filesystem::path& path) {
  try {
    return read_plain_file(path);
  } catch (const Error&) {
    return {};
  }
}

bool is_irregular(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  const fs::file_type type = fs::symlink_status(path, ec).type();
  return type != fs::file_type::regular && type != fs::file_type::directory &&
         type != fs::file_type::not_found && type != fs::file_type::none;
}

}  // namespace assay
