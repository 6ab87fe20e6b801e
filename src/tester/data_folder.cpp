#include "tester/data_folder.h"

#include <vector>

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

std::size_t copy_files(const fs::path& from, const fs::path& to, bool link) {
  std::size_t files = 0;
  std::error_code ec;
  make_directories(to);
  // recursive_directory_iterator would end where a folder disappears.
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(from, ec), end; !ec && it != end; it.increment(ec))
    entries.push_back(it->path());
  if (ec && fs::exists(from)) throw fs::filesystem_error("cannot read the folder", from, ec);
  for (const fs::path& entry : entries) {
    const fs::path target = to / entry.filename();
    const fs::file_type type = fs::symlink_status(entry, ec).type();
    ec.clear();
    if (type == fs::file_type::directory) {
      files += copy_files(entry, target, link);
      continue;
    }
    if (type == fs::file_type::symlink) {
      fs::copy_symlink(entry, target, ec);
    } else if (type == fs::file_type::regular) {
      if (link) fs::create_hard_link(entry, target, ec);
      if (!link || ec) fs::copy_file(entry, target, ec);
      if (!ec) ++files;
    }
    if (ec && fs::exists(fs::symlink_status(entry)))
      throw fs::filesystem_error("cannot copy the file", entry, target, ec);
    ec.clear();
  }
  return files;
}

void write_private(const fs::path& file, const std::string& text) {
  const OwnerOnly files;
  write_file_atomic(file, text);
}

}  // namespace assay::tester
