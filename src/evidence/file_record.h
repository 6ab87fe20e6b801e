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

/// `evidence` of the journal's run_start and run_resume: the evidence from there on. 1: every
/// following round_start belongs to a round with lists (docs/evidence.md says which), and a run
/// that ended has a seal; a missing one was lost or removed. Without it, the run is of an earlier
/// Assay that wrote neither, and nothing about integrity can be said.
inline constexpr int kVersion = 1;

/// A file, or the first `bytes` bytes of one.
struct FileRecord {
  /// Relative to the folder that the list is about, with '/': "rank0.out.log", "results/a.json".
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
/// ".." part, no control characters. Check it before opening a name that others wrote.
[[nodiscard]] bool is_plain_name(std::string_view name) noexcept;

/// Whether a record is well-formed: a plain name, and a hash of 64 lower-case hex digits.
[[nodiscard]] bool is_sound(const FileRecord& record) noexcept;

/// The hash of a file while it is written. Takes the written bytes, in pieces of any size.
class FileHash {
 public:
  void append(std::string_view bytes) noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// The contents so far; the file can grow further after that.
  [[nodiscard]] FileRecord record(std::string name) const;

 private:
  Sha256 hash_;
  std::uint64_t bytes_ = 0;
  std::uint64_t lines_ = 0;
};

/// The file as it is now, read in pieces of bounded size, and named `name`. Nothing if there is
/// no such file; throws Error of kind environment if it exists and cannot be read, or is not a
/// regular file.
[[nodiscard]] std::optional<FileRecord> measure_file(const std::filesystem::path& path,
                                                     std::string name);

/// How a file compares with its record.
enum class FileMatch {
  same,
  missing,
  shorter,
  longer,
  different,  ///< the same length, but other contents
};

constexpr auto enum_names(FileMatch /*match*/) {
  using enum FileMatch;
  return std::to_array<EnumName<FileMatch>>({{same, "same"},
                                             {missing, "missing"},
                                             {shorter, "shorter"},
                                             {longer, "longer"},
                                             {different, "different"}});
}

/// `found`: the result of measure_file; its name does not matter. A wrong number of lines with the
/// right hash is `different`.
[[nodiscard]] FileMatch compare(const FileRecord& listed, const std::optional<FileRecord>& found);

/// Checks the records of a growing file, in one reading. `records`: of this file, in the order in
/// which they were written; nothing in them is trusted. Returns the index of the first one that
/// does not match the file (its bytes are missing, or their hash or lines differ), or nothing. A
/// missing file matches no record of a byte or more. Throws as measure_file. A log that reached its
/// limit was begun again: its records fall in bytes, and those from before the last fall belong to
/// a file that has another name now; pass only those after it.
[[nodiscard]] std::optional<std::size_t> first_misfit(const std::filesystem::path& path,
                                                      std::span<const FileRecord> records);

}  // namespace assay::evidence
