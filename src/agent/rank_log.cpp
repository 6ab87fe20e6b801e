#include "agent/rank_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"

namespace assay::agent {

namespace {

UniqueFd create(const std::filesystem::path& path) {
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
}

}  // namespace

RankLog::RankLog(std::filesystem::path path, std::uint64_t limit)
    : path_(std::move(path)), limit_(limit), file_(create(path_)) {
  if (!file_)
    throw system_error(ErrorKind::environment, "cannot create the log", path_.string(), errno);
}

void RankLog::append(std::string_view bytes) {
  received_ += bytes.size();
  while (!bytes.empty()) {
    std::size_t room = bytes.size();
    if (limit_ > 0) {
      const std::uint64_t capacity =
          std::max<std::uint64_t>(head_done_ ? limit_ / 4 : limit_ / 2, 1);
      if (in_file_ >= capacity) rotate();
      room = static_cast<std::size_t>(std::min<std::uint64_t>(
          bytes.size(),
          std::max<std::uint64_t>(head_done_ ? limit_ / 4 : limit_ / 2, 1) - in_file_));
    }
    write(bytes.substr(0, room));
    bytes.remove_prefix(room);
  }
}

void RankLog::rotate() {
  const char* suffix = head_done_ ? ".1" : ".head";
  std::error_code ec;
  std::filesystem::rename(path_, path_.string() + suffix, ec);
  UniqueFd next = create(path_);
  if (ec || !next) {
    // Start over in the same file: the limit holds, and the loss is counted.
    if (file_) {
      if (::ftruncate(file_.get(), 0) == 0) ::lseek(file_.get(), 0, SEEK_SET);
    }
    dropped_ += in_file_;
    in_file_ = 0;
    head_done_ = true;
    return;
  }
  if (head_done_) {
    dropped_ += in_previous_;
    in_previous_ = in_file_;
  }
  head_done_ = true;
  file_ = std::move(next);
  in_file_ = 0;
}

void RankLog::write(std::string_view bytes) {
  in_file_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      if (write_error_.empty()) write_error_ = std::strerror(errno);
      dropped_ += bytes.size();
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace assay::agent
