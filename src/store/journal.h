#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"

namespace assay::store {

/// The append-only history of a run, one JSON object a line (docs/run-directory.md lists the
/// events). Every line is one write(2), so that a crash can tear only the last one.
class Journal {
 public:
  /// Opens `path` for appending, creating it when needed; a torn last line is closed first.
  explicit Journal(std::filesystem::path path);

  /// Appends {"event": event, "wall_ns": …, "mono_ns": …} + fields. Throws Error of kind
  /// environment.
  void append(const std::string& event, const Json& fields);
  /// Makes everything appended so far survive a power loss.
  void sync();

  /// All whole lines; a torn or unreadable line is skipped and counted in `skipped`.
  [[nodiscard]] static std::vector<Json> read(const std::filesystem::path& path,
                                              std::size_t* skipped = nullptr);

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace assay::store
