#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// A folder that only this user can enter, removed with all that is in it.
class ScratchFolder {
 public:
  /// In TMPDIR; `name` is how the folder's own begins. Throws Error of kind environment.
  explicit ScratchFolder(const std::string& name);
  /// Beside the files that it is for, or in a place whose path is short.
  ScratchFolder(const std::filesystem::path& parent, const std::string& name);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Renames it, with the rights of any new folder, and keeps it. An empty folder of that name is
  /// replaced; anything else is an Error of kind environment.
  void keep_as(const std::filesystem::path& target);

 private:
  std::filesystem::path path_;  ///< empty: it is kept
};

}  // namespace assay
