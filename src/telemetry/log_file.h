#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/files.h"
#include "evidence/file_record.h"

namespace assay::telemetry {

/// A text file that grows only by whole lines. After a failed write (disk full) the file still ends
/// with a whole line, and the next append tries again.
class LogFile {
 public:
  /// Whether record() is needed.
  enum class Hashed { no, yes };

  LogFile() = default;
  /// Opens for appending, creating the file if needed; `header` (with its newline) starts an empty
  /// file. Throws Error of kind environment.
  explicit LogFile(const std::filesystem::path& path, std::string_view header = {},
                   Hashed hashed = Hashed::no);

  /// Makes one write(2). Returns 0 or errno; the text of a failed append is dropped.
  [[nodiscard]] int append(std::string_view lines) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(fd_); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The file's content as written, even after close(). Only for a hashed file.
  [[nodiscard]] evidence::FileRecord record() const { return hash_->record(name_); }
  void close() noexcept { fd_.reset(); }

 private:
  void written(std::string_view bytes) noexcept;

  UniqueFd fd_;
  std::string name_;
  std::optional<evidence::FileHash> hash_;
  std::string header_;          // still unwritten, if the disk was full at the start
  std::int64_t good_size_ = 0;  // the file's size without the part to be cut off again
  bool torn_ = false;           // ends within a line that could not be removed
};

}  // namespace assay::telemetry
