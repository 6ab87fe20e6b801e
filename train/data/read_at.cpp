#include "train/data/read_at.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace assay::train::data {

namespace {

UniqueFd open_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_error(ErrorKind::environment, "cannot read the file", path, errno);
  return fd;
}

// Reads up to `size` bytes, as many as there are.
std::int64_t fill(int fd, const std::string& path, std::int64_t offset, std::int64_t size,
                  std::vector<std::uint8_t>& bytes) {
  bytes.resize(static_cast<std::size_t>(size));
  std::int64_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, static_cast<std::size_t>(size - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error(ErrorKind::environment, "cannot read the file", path, errno);
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace

void read_whole(const std::string& path, std::vector<std::uint8_t>& bytes) {
  const UniqueFd fd = open_file(path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    throw system_error(ErrorKind::environment, "cannot read the file", path, errno);
  bytes.resize(static_cast<std::size_t>(fill(fd.get(), path, 0, status.st_size, bytes)));
}

void read_at(const std::string& path, std::int64_t offset, std::int64_t size,
             std::vector<std::uint8_t>& bytes) {
  const UniqueFd fd = open_file(path);
  const std::int64_t got = fill(fd.get(), path, offset, size, bytes);
  if (got != size)
    throw Error(ErrorKind::environment,
                fmt::format("the file ends at byte {}, within a record that begins at {}",
                            offset + got, offset),
                path, "the file was cut off or replaced while it was in use");
}

}  // namespace assay::train::data
