#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "core/sha256.h"

namespace assay::evidence {

/// `evidence` in the journal's run_start and run_resume: what the run leaves from there on. 1:
/// every following round_start has a round with lists (docs/evidence.md names them), and a run that
/// ended has a seal; a missing one was lost or removed. Absent: the run was made by an earlier
/// Assay that left neither, and nothing can be said about its integrity.
inline constexpr int kVersion = 1;

/// A file, or its first `bytes` bytes.
struct FileRecord {
  /// Relative to the list's folder, with '/': "rank0.out.log", "results/a.json".
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;  ///< newline characters
  std::string sha256;       ///< of these bytes, 64 lower-case hex digits

  bool operator==(const FileRecord&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("name", self.name);
    field("bytes", self.bytes);
    field("lines", self.lines);
    field("sha256", self.sha256);
  }
};

/// Whether a name from a list stays below its folder: not empty, not absolute, no empty, "." or
/// ".." part, no control characters. Must be checked before opening a name that others wrote.
[[nodiscard]] bool is_plain_path(std::string_view name) noexcept;

/// Whether a record is well-formed: a plain name and a hash of 64 lower-case hex digits.
[[nodiscard]] bool is_sound(const FileRecord& record) noexcept;

/// Hashes a file's content while it is written, in pieces of any size.
class FileHash {
 public:
  void append(std::string_view bytes) noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// The record of the content so far, which may still grow.
  [[nodiscard]] FileRecord record(std::string name) const;

 private:
  Sha256 hash_;
  std::uint64_t bytes_ = 0;
  std::uint64_t lines_ = 0;
};

/// The record of a file as it is now, read in pieces of bounded size, under the name `name`.
/// Nothing when there is no such file; throws Error of kind environment when it cannot be read or
/// is not a regular file.
[[nodiscard]] std::optional<FileRecord> measure_file(const std::filesystem::path& path,
                                                     std::string name);

/// How a file compares with its record.
enum class FileMatch {
  same,
  missing,
  shorter,
  longer,
  different,  ///< same length, different content
};

constexpr auto enum_names(FileMatch /*match*/) {
  using enum FileMatch;
  return std::to_array<EnumName<FileMatch>>({{same, "same"},
                                             {missing, "missing"},
                                             {shorter, "shorter"},
                                             {longer, "longer"},
                                             {different, "different"}});
}

/// `found` is the result of measure_file; its name is ignored. The right hash with a wrong number
/// of lines is `different`.
[[nodiscard]] FileMatch compare(const FileRecord& listed, const std::optional<FileRecord>& found);

/// Checks all records made of a file while it grew, in one reading. `records` are this file's, in
/// the order of writing; nothing in them is trusted. Returns the index of the first one that does
/// not fit the file as it is (its bytes are missing, or their hash or lines differ), or nothing. A
/// missing file fits no record of a byte or more. Throws like measure_file. A log that reached its
/// limit was begun again: its records then fall in bytes, and those before the last fall describe a
/// file with another name now; pass only those after it.
[[nodiscard]] std::optional<std::size_t> first_misfit(const std::filesystem::path& path,
                                                      std::span<const FileRecord> records);

}  // namespace assay::evidence
