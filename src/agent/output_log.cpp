#include "agent/output_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

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
  const std::filesystem::path part = path_.string() + (head_done_ ? ".1" : ".head");
  std::error_code ec;
  std::filesystem::rename(path_, part, ec);
  if (ec) return begin_again();
  std::erase_if(rotated_, [&](const auto& file) { return file.name == part.filename(); });
  if (head_done_) dropped_ += std::exchange(in_previous_, 0);
  UniqueFd next = create(path_);
  if (!next) {
    std::filesystem::rename(part, path_, ec);
    return begin_again();
  }
  rotated_.push_back(hash_.record(part.filename().string()));
  if (head_done_) in_previous_ = in_file_;
  head_done_ = true;
  file_ = std::move(next);
  hash_ = {};
  in_file_ = 0;
}

// Starts over in the same file: the limit holds, and the loss is counted.
void RankLog::begin_again() {
  if (::ftruncate(file_.get(), 0) == 0) {
    ::lseek(file_.get(), 0, SEEK_SET);
    hash_ = {};
  }
  dropped_ += in_file_;
  in_file_ = 0;
  head_done_ = true;
}

std::vector<evidence::FileRecord> RankLog::files() const {
  std::vector<evidence::FileRecord> out = rotated_;
  out.push_back(hash_.record(path_.filename().string()));
  return out;
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
    hash_.append(bytes.substr(0, static_cast<std::size_t>(n)));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace assay::agent
