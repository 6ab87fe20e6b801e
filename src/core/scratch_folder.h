#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// A temporary folder (in TMPDIR), removed with all that is in it.
class ScratchFolder {
 public:
  /// `name` is how the folder's own begins. Throws Error of kind environment.
  explicit ScratchFolder(const std::string& name);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace assay
