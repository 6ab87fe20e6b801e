#include "automl/weights_store.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/parse_number.h"

namespace assay::automl {

namespace fs = std::filesystem;

WeightsStore::WeightsStore(fs::path directory, std::uint64_t limit)
    : directory_(std::move(directory)), limit_(limit) {
  make_directories(directory_);
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(directory_, ec)) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".part") {
      fs::remove(entry.path(), ec);  // its sender is gone
    } else if (const auto trial = parse_number<std::int64_t>(stem)) {
      sizes_[*trial] = entry.file_size(ec);
      used_ += sizes_[*trial];
    }
  }
}

fs::path WeightsStore::file(std::int64_t trial) const {
  return directory_ / fmt::format("{}.pt", trial);
}

void WeightsStore::make_room(std::int64_t bytes) {
  while (!sizes_.empty() && used_ + static_cast<std::uint64_t>(bytes) > limit_) {
    const auto worth = [&](std::int64_t trial) {
      const auto at = values_.find(trial);
      return at == values_.end() ? -1 : at->second;
    };
    const auto least = std::ranges::min_element(
        sizes_, [&](const auto& a, const auto& b) { return worth(a.first) < worth(b.first); });
    std::error_code ignored;
    const auto [trial, size] = *least;
    fs::remove(file(trial), ignored);
    used_ -= std::min(used_, size);
    sizes_.erase(least);
    if (tell_)
      tell_(trial, static_cast<std::int64_t>(size), "removed for those of better trials", true);
  }
}

WeightsStore::Upload WeightsStore::receive(std::int64_t trial, std::int64_t bytes) {
  return {*this, trial, bytes};
}

WeightsStore::Upload::Upload(WeightsStore& store, std::int64_t trial, std::int64_t bytes)
    : store_(&store),
      trial_(trial),
      bytes_(bytes),
      missing_(bytes),
      part_(store.directory_ / fmt::format("{}.{}.part", trial, ++store.uploads_)) {
  if (static_cast<std::uint64_t>(bytes) > store.limit_) {
    problem_ = "larger than all weights together may be";
    return;
  }
  store.make_room(bytes);
  std::error_code ignored;
  fs::remove(part_, ignored);
  fd_.reset(::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd_) problem_ = std::generic_category().message(errno);
}

WeightsStore::Upload::Upload(Upload&& other) noexcept
    : store_(other.store_),
      trial_(other.trial_),
      bytes_(other.bytes_),
      missing_(other.missing_),
      part_(std::move(other.part_)),
      problem_(std::move(other.problem_)),
      fd_(std::move(other.fd_)) {}

WeightsStore::Upload::~Upload() {
  if (fd_) ::unlink(part_.c_str());
}

void WeightsStore::Upload::write(std::string_view piece) noexcept {
  missing_ -= static_cast<std::int64_t>(piece.size());
  while (fd_ && !piece.empty()) {
    const ssize_t n = ::write(fd_.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      problem_ = std::generic_category().message(n < 0 ? errno : ENOSPC);
      ::unlink(part_.c_str());
      fd_.reset();
    } else {
      piece.remove_prefix(static_cast<std::size_t>(n));
    }
  }
}

void WeightsStore::Upload::finish() {
  if (fd_) {
    std::error_code ec;
    fs::rename(part_, store_->file(trial_), ec);
    fd_.reset();
    if (ec) problem_ = ec.message();
  }
  if (problem_.empty()) {
    std::uint64_t& size = store_->sizes_[trial_];
    store_->used_ += static_cast<std::uint64_t>(bytes_) - size;
    size = static_cast<std::uint64_t>(bytes_);
  }
  if (store_->tell_) store_->tell_(trial_, bytes_, problem_, false);
}

std::optional<WeightsStore::Download> WeightsStore::open(std::int64_t trial) const {
  Download download;
  download.fd_.reset(::open(file(trial).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!download.fd_ || ::fstat(download.fd_.get(), &info) != 0 || info.st_size == 0)
    return std::nullopt;
  download.missing_ = info.st_size;
  return download;
}

std::string WeightsStore::Download::read(std::size_t bytes) {
  std::string piece(std::min<std::size_t>(bytes, static_cast<std::size_t>(missing_)), '\0');
  std::size_t got = 0;
  while (got < piece.size()) {
    const ssize_t n = ::read(fd_.get(), piece.data() + got, piece.size() - got);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  missing_ -= static_cast<std::int64_t>(piece.size());
  return piece;
}

}  // namespace assay::automl
