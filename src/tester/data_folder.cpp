#include "tester/data_folder.h"

#include <sys/stat.h>

#include "core/files.h"

namespace assay::tester {

namespace fs = std::filesystem;

OwnerOnly::OwnerOnly() : before_(::umask(0077)) {}
OwnerOnly::~OwnerOnly() {
  ::umask(before_);
}

fs::path make_data_folder(const fs::path& data) {
  if (!fs::exists(data)) {
    make_directories(data);
    ::chmod(data.c_str(), 0700);
  }
  return fs::absolute(data);
}

void write_private(const fs::path& file, const std::string& text) {
  const OwnerOnly files;
  write_file_atomic(file, text);
}

}  // namespace assay::tester
