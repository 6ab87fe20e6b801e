#include "live/growing_log.h"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/regular_file.h"

namespace assay::live {

namespace {

constexpr std::array<const char*, 3> kSuffixes{".head", ".1", ""};  // oldest first

}  // namespace

bool GrowingLog::find(const std::filesystem::path& path, int fd, Found& found) {
  struct statx status {};
  const int flags = fd >= 0 ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
  if (::statx(fd >= 0 ? fd : AT_FDCWD, fd >= 0 ? "" : path.c_str(), flags,
              STATX_BASIC_STATS | STATX_BTIME, &status) != 0)
    return false;
  const bool born = (status.stx_mask & STATX_BTIME) != 0;
  found.identity = {(std::uint64_t{status.stx_dev_major} << 32) | status.stx_dev_minor,
                    status.stx_ino,
                    born ? status.stx_btime.tv_sec * 1'000'000'000 + status.stx_btime.tv_nsec : 0};
  found.size = status.stx_size;
  found.regular = S_ISREG(status.stx_mode);
  return true;
}

bool GrowingLog::look() {
  problem_.clear();
  for (File& file : files_) file.path.clear();
  bool same = true;
  for (const char* suffix : kSuffixes) {
    const std::filesystem::path path = file_.string() + suffix;
    Found found;
    if (!find(path, -1, found)) continue;
    if (!found.regular) {
      problem_ = path.filename().string() + " is not a regular file";
      continue;
    }
    auto known = std::ranges::find_if(files_, [&](const File& file) {
      return !file.gone && file.path.empty() && file.identity == found.identity;
    });
    // Who writes now writes the last part, or one that is new.
    if (*suffix == '\0' && known != files_.end() && known + 1 != files_.end()) known = files_.end();
    if (known == files_.end()) {
      File file;
      file.begin = size();
      file.end = file.begin + found.size;
      file.identity = found.identity;
      file.path = path;
      files_.push_back(std::move(file));
      continue;
    }
    known->path = path;
    const std::uint64_t before = known->end - known->begin;
    // Only the last part grows. One that became shorter was cut, or another file has its inode.
    if (found.size < before || (found.size > before && known + 1 != files_.end())) same = false;
    known->end = known->begin + found.size;
  }
  // Of a log only the rotated part may go, when the next one takes its name.
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i].path.empty() || files_[i].gone) continue;
    files_[i].gone = true;
    if (i + 1 == files_.size()) same = false;
  }
  if (same) return true;
  files_.clear();
  (void)look();
  return false;
}

std::size_t GrowingLog::read(std::uint64_t offset, std::span<char> to) const {
  const auto part = std::ranges::find_if(
      files_, [&](const File& file) { return offset >= file.begin && offset < file.end; });
  if (part == files_.end() || part->gone) return 0;
  try {
    const UniqueFd fd = open_regular_file(part->path);
    Found found;
    if (!fd || !find(part->path, fd.get(), found) || found.identity != part->identity) return 0;
    const std::size_t most = std::min<std::uint64_t>(to.size(), part->end - offset);
    const ssize_t n = ::pread(fd.get(), to.data(), most, static_cast<off_t>(offset - part->begin));
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  } catch (const Error&) {
    return 0;  // it was replaced or forbidden meanwhile: look() will say so
  }
}

}  // namespace assay::live
