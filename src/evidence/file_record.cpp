#include "evidence/file_record.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <vector>

#include <unistd.h>

#include "core/error.h"
#include "core/regular_file.h"

namespace assay::evidence {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;

bool is_hash(std::string_view text) noexcept {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Calls `take` with the file's pieces in order; returns false when there is no such file.
bool read_pieces(const std::filesystem::path& path,
                 const std::function<void(std::string_view)>& take) {
  const UniqueFd fd = open_regular_file(path);
  if (!fd) return false;
  std::vector<char> buffer(kPiece);
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n == 0) return true;
    if (n < 0 && errno != EINTR)
      throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
    if (n > 0) take({buffer.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace

bool is_plain_path(std::string_view name) noexcept {
  if (name.empty() || name.size() > 4096) return false;
  if (std::ranges::any_of(name,
                          [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }))
    return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

bool is_sound(const FileRecord& record) noexcept {
  return is_plain_path(record.name) && is_hash(record.sha256);
}

void FileHash::append(std::string_view bytes) noexcept {
  hash_.update(bytes);
  bytes_ += bytes.size();
  lines_ += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

FileRecord FileHash::record(std::string name) const {
  return {std::move(name), bytes_, lines_, hash_.hex()};
}

std::optional<FileRecord> measure_file(const std::filesystem::path& path, std::string name) {
  FileHash hash;
  if (!read_pieces(path, [&](std::string_view piece) { hash.append(piece); })) return std::nullopt;
  return hash.record(std::move(name));
}

FileMatch compare(const FileRecord& listed, const std::optional<FileRecord>& found) {
  using enum FileMatch;
  if (!found) return missing;
  if (found->bytes != listed.bytes) return found->bytes < listed.bytes ? shorter : longer;
  return found->sha256 == listed.sha256 && found->lines == listed.lines ? same : different;
}

std::optional<std::size_t> first_misfit(const std::filesystem::path& path,
                                        std::span<const FileRecord> records) {
  FileHash hash;
  std::size_t next = 0;
  bool fits = true;
  // Checks all records that are due; one with fewer bytes than before fits no file that only grows.
  const auto check = [&] {
    while (fits && next < records.size() && records[next].bytes <= hash.bytes()) {
      const FileRecord& listed = records[next];
      fits = listed.bytes == hash.bytes() && hash.record(listed.name) == listed;
      if (fits) ++next;
    }
  };
  check();
  read_pieces(path, [&](std::string_view piece) {
    while (fits && !piece.empty()) {
      std::size_t size = piece.size();
      if (next < records.size())
        size = static_cast<std::size_t>(
            std::min<std::uint64_t>(size, records[next].bytes - hash.bytes()));
      hash.append(piece.substr(0, size));
      piece.remove_prefix(size);
      check();
    }
  });
  if (next == records.size()) return std::nullopt;
  return next;
}

}  // namespace assay::evidence
