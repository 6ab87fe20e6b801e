#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/files.h"
#include "evidence/file_record.h"

namespace assay::telemetry {

/// A text file that only grows, by whole lines. After a write that failed (disk full) the file
/// still ends with a whole line, and the next append tries again.
class LogFile {
 public:
  /// Whether record() is wanted.
  enum class Hashed { no, yes };

  LogFile() = default;
  /// Opens for appending, creating the file; `header` (with its newline) starts an empty file.
  /// Throws Error of kind environment.
  explicit LogFile(const std::filesystem::path& path, std::string_view header = {},
                   Hashed hashed = Hashed::no);

  /// One write(2). 0, or the errno of the failure; the text of a failed append is dropped.
  [[nodiscard]] int append(std::string_view lines) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(fd_); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// What the file holds, as it was written; also after close(). Only of a hashed one.
  [[nodiscard]] evidence::FileRecord record() const { return hash_->record(name_); }
  void close() noexcept { fd_.reset(); }

 private:
  void written(std::string_view bytes) noexcept;

  UniqueFd fd_;
  std::string name_;
  std::optional<evidence::FileHash> hash_;
  std::string header_;          // still to be written, when the disk was full at the start
  std::int64_t good_size_ = 0;  // the file's size, but for what is to be cut off again
  bool torn_ = false;           // ends within a line that could not be taken back
};

}  // namespace assay::telemetry
