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

}  // namespace assay::tester
