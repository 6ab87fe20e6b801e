#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "evidence/file_record.h"

namespace assay::agent {

/// The output of one rank on disk, bounded: keeps the first half of the limit for good (`….head`)
/// and the newest bytes of the rest (`….1` and the file itself). Blocks only on the file system and
/// never throws after construction: bytes that cannot be written are counted.
class RankLog {
 public:
  /// Throws Error of kind environment when the file cannot be created. `limit` 0 means no limit.
  RankLog(std::filesystem::path path, std::uint64_t limit);

  void append(std::string_view bytes);

  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_; }
  [[nodiscard]] std::uint64_t dropped_bytes() const noexcept { return dropped_; }
  /// The current content of the files, hashed while it was written; the oldest part first.
  [[nodiscard]] std::vector<evidence::FileRecord> files() const;
  /// Why bytes could not be written ("No space left on device"), or empty.
  [[nodiscard]] const std::string& write_error() const noexcept { return write_error_; }

 private:
  void rotate();
  void begin_again();
  void write(std::string_view bytes);

  std::filesystem::path path_;
  std::uint64_t limit_;
  UniqueFd file_;
  bool head_done_ = false;
  std::uint64_t in_file_ = 0;      // bytes in the current file
  std::uint64_t in_previous_ = 0;  // bytes in ….1
  evidence::FileHash hash_;        // of the bytes that reached the current file
  std::vector<evidence::FileRecord> rotated_;
  std::uint64_t received_ = 0;
  std::uint64_t dropped_ = 0;
  std::string write_error_;
};

}  // namespace assay::agent
