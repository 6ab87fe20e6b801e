#include "agent/live_output.h"

#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

#include "core/files.h"

namespace assay::agent {

void LiveOutput::append(std::string_view bytes) {
  if (most_ == 0) return;
  if (bytes.size() >= most_) {
    skipped_ += data_.size() + bytes.size() - most_;
    data_ = bytes.substr(bytes.size() - most_);
    return;
  }
  data_ += bytes;
  if (data_.size() <= 2 * most_) return;  // moved rarely rather than with every line
  skipped_ += data_.size() - most_;
  data_.erase(0, data_.size() - most_);
}

std::optional<LivePiece> LiveOutput::take() {
  if (data_.size() > most_) {
    skipped_ += data_.size() - most_;
    data_.erase(0, data_.size() - most_);
  }
  std::size_t end = data_.find_last_of("\n\r") + 1;  // 0: no line ends
  if (end < data_.size() && (waited_ || data_.size() == most_)) end = data_.size();
  waited_ = end < data_.size();
  if (end == 0) return std::nullopt;
  LivePiece piece{data_.substr(0, end), skipped_};
  data_.erase(0, end);
  skipped_ = 0;
  if (piece.skipped_bytes == 0) return piece;
  // The skipped part ended in the middle of a line.
  const std::size_t line = piece.data.find('\n') + 1;
  if (line < piece.data.size()) {
    piece.skipped_bytes += line;
    piece.data.erase(0, line);
  }
  return piece;
}

std::string LiveFile::take(std::size_t most) {
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return {};
  std::string data(most, '\0');
  const ssize_t n = ::pread(fd.get(), data.data(), data.size(), static_cast<off_t>(read_));
  if (n <= 0) return {};
  data.resize(static_cast<std::size_t>(n));
  data.resize(data.rfind('\n') + 1);
  read_ += data.size();
  return data;
}

}  // namespace assay::agent
