#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

namespace assay::tester {

/// Files made meanwhile can be read by their owner only.
class OwnerOnly {
 public:
  OwnerOnly();
  OwnerOnly(const OwnerOnly&) = delete;
  OwnerOnly& operator=(const OwnerOnly&) = delete;
  ~OwnerOnly();

 private:
  mode_t before_;
};

/// Makes it where it is not there; gives its absolute path.
std::filesystem::path make_data_folder(const std::filesystem::path& data);

/// A file of mode 0600 with this text, put in its place as a whole.
void write_private(const std::filesystem::path& file, const std::string& text);

/// Copies the files of a folder, as hard links where that is possible and asked for; links stay
/// links. What goes away meanwhile is passed over. Gives how many files there were.
std::size_t copy_files(const std::filesystem::path& from, const std::filesystem::path& to,
                       bool link);

}  // namespace assay::tester
