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

/// `evidence` of the journal's run_start and run_resume: what a run leaves from there on. 1: every
/// round_start that follows is of a round with lists (docs/evidence.md says which), and a run that
/// ended has a seal; where one is missing, it was lost or taken away. Without it the run is of an
/// earlier Assay that left neither, and nothing about integrity can be said.
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
/// ".." part, no control characters. Ask before a name that others wrote is opened.
[[nodiscard]] bool is_plain_name(std::string_view name) noexcept;

/// Whether a record can be meant: a plain name, and a hash of 64 lower-case hex digits.
[[nodiscard]] bool is_sound(const FileRecord& record) noexcept;

/// The content of a file while it is written. Takes in what was written, in pieces of any size.
class FileHash {
 public:
  void append(std::string_view bytes) noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// What it holds so far; it can grow on after that.
  [[nodiscard]] FileRecord record(std::string name) const;

 private:
  Sha256 hash_;
  std::uint64_t bytes_ = 0;
  std::uint64_t lines_ = 0;
};

/// The file as it is now, read in pieces of bounded size, and named `name`. Nothing when there is
/// no such file; throws Error of kind environment when it is there and cannot be read, or is no
/// regular file.
[[nodiscard]] std::optional<FileRecord> measure_file(const std::filesystem::path& path,
                                                     std::string name);

/// How a file stands to its record.
enum class FileMatch {
  same,
  missing,
  shorter,
  longer,
  different,  ///< as long, but another content
};

constexpr auto enum_names(FileMatch /*match*/) {
  using enum FileMatch;
  return std::to_array<EnumName<FileMatch>>({{same, "same"},
                                             {missing, "missing"},
                                             {shorter, "shorter"},
                                             {longer, "longer"},
                                             {different, "different"}});
}

/// `found`: what measure_file gave; its name does not matter. A wrong number of lines beside the
/// right hash is `different`.
[[nodiscard]] FileMatch compare(const FileRecord& listed, const std::optional<FileRecord>& found);

/// Checks what was said about a file while it grew, in one reading. `records`: of this file, in the
/// order in which they were written; nothing in them is trusted. Gives the index of the first one
/// that does not fit the file as it is (its bytes are not there, or their hash or lines are
/// others), or nothing. A file that is not there fits no record of a byte or more. Throws as
/// measure_file. A log that reached its limit was begun again: its records fall in bytes, and those
/// from before the last fall are about a file that has another name now; hand in only those after
/// it.
[[nodiscard]] std::optional<std::size_t> first_misfit(const std::filesystem::path& path,
                                                      std::span<const FileRecord> records);

}  // namespace assay::evidence
