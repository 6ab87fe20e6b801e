#include "commands/base/output_file.h"

#include "core/error.h"
#include "core/files.h"

namespace assay::commands {

namespace fs = std::filesystem;

fs::path output_place(const std::string& name) {
  std::error_code ec;
  const fs::file_status itself = fs::symlink_status(name, ec);
  const fs::path place =
      fs::is_symlink(itself) ? fs::weakly_canonical(fs::absolute(name), ec) : fs::path(name);
  const fs::file_status there = fs::symlink_status(place, ec);
  if (place.empty() || (fs::exists(there) && !fs::is_regular_file(there)))
    throw Error(ErrorKind::usage, "not a file that can be written", name,
                "name a file; without it, the standard output is written to");
  return place;
}

void write_output_file(const std::string& name, std::string_view text) {
  write_file_atomic(output_place(name), text);
}

}  // namespace assay::commands
