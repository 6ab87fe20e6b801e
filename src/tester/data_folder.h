#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

namespace assay::tester {

/// While it lives, new files are readable only by their owner.
class OwnerOnly {
 public:
  OwnerOnly();
  OwnerOnly(const OwnerOnly&) = delete;
  OwnerOnly& operator=(const OwnerOnly&) = delete;
  ~OwnerOnly();

 private:
  mode_t before_;
};

/// Creates the folder if missing; returns its absolute path.
std::filesystem::path make_data_folder(const std::filesystem::path& data);

/// Writes this text to a file of mode 0600, which appears complete.
void write_private(const std::filesystem::path& file, const std::string& text);

/// Copies the files of a folder, as hard links if requested and possible; links stay links. Skips
/// files that disappear meanwhile. Returns the number of files.
std::size_t copy_files(const std::filesystem::path& from, const std::filesystem::path& to,
                       bool link);

}  // namespace assay::tester
