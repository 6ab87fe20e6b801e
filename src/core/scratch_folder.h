#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// A folder that only this user can enter; removed with all its content.
class ScratchFolder {
 public:
  /// Created in TMPDIR, with a name that begins with `name`. Throws Error of kind environment.
  explicit ScratchFolder(const std::string& name);
  /// Created in `parent`: beside the files it is for, or where the path is short.
  ScratchFolder(const std::filesystem::path& parent, const std::string& name);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Renames the folder, gives it the permissions of any new folder, and keeps it. Replaces an
  /// empty folder of that name; anything else there is an Error of kind environment.
  void keep_as(const std::filesystem::path& target);

 private:
  std::filesystem::path path_;  ///< empty once it is kept
};

}  // namespace assay
