#include "telemetry/log_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

namespace assay::telemetry {

namespace {

// Bytes written before the first failure, and its errno or 0.
struct Written {
  std::size_t bytes = 0;
  int error = 0;
};

Written write_some(int fd, std::string_view data) noexcept {
  Written done;
  while (done.bytes < data.size()) {
    const ssize_t n = ::write(fd, data.data() + done.bytes, data.size() - done.bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      done.error = n < 0 ? errno : ENOSPC;
      break;
    }
    done.bytes += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace

LogFile::LogFile(const std::filesystem::path& path, std::string_view header, Hashed hashed)
    : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)),
      name_(path.filename().string()) {
  struct stat info {};
  if (!fd_ || ::fstat(fd_.get(), &info) != 0)
    throw system_error(ErrorKind::environment, "cannot open the file", path.string(), errno);
  good_size_ = info.st_size;
  if (hashed == Hashed::yes) {
    hash_.emplace();
    if (info.st_size > 0) hash_->append(read_file(path));
  }
  char last = '\n';
  if (info.st_size > 0 && ::pread(fd_.get(), &last, 1, info.st_size - 1) == 1) torn_ = last != '\n';
  if (info.st_size > 0 || header.empty()) return;
  header_ = header;
  if (const int error = append({}); error != 0)
    throw system_error(ErrorKind::environment, "cannot write the file", path.string(), error);
}

int LogFile::append(std::string_view lines) noexcept {
  if (!fd_) return EBADF;
  for (std::string_view part :
       {std::string_view(torn_ ? "\n" : ""), std::string_view(header_), lines}) {
    const Written done = write_some(fd_.get(), part);
    if (done.error != 0) {
      if (done.bytes > 0) torn_ = ::ftruncate(fd_.get(), good_size_) != 0;
      if (torn_) written(part.substr(0, done.bytes));
      return done.error;
    }
    written(part);
    if (!part.empty()) torn_ = false;
  }
  header_.clear();
  return 0;
}

void LogFile::written(std::string_view bytes) noexcept {
  good_size_ += static_cast<std::int64_t>(bytes.size());
  if (hash_) hash_->append(bytes);
}

}  // namespace assay::telemetry
