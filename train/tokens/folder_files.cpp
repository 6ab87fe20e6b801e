#include "train/tokens/folder_files.h"

#include <algorithm>

#include "core/error.h"

namespace assay::train::tokens {

namespace {

namespace fs = std::filesystem;

// A link to an enclosing folder would be followed forever and yield files repeatedly.
void refuse_loop(const fs::recursive_directory_iterator& it) {
  constexpr int deepest = 32;
  std::error_code error;
  if (!it->is_directory(error)) return;
  bool above = it.depth() > deepest;
  if (!above && it->is_symlink(error)) {
    const fs::path target = fs::canonical(it->path(), error);
    const fs::path here = fs::canonical(it->path().parent_path(), error);
    above =
        std::mismatch(target.begin(), target.end(), here.begin(), here.end()).first == target.end();
  }
  if (above)
    throw Error(ErrorKind::environment, "the folder leads back to one above it",
                it->path().string(), "remove this link");
}

// Returns false for folders and unwanted names.
bool is_wanted_file(const fs::directory_entry& entry,
                    const std::function<bool(const fs::path&)>& wanted) {
  std::error_code ignored;
  const fs::file_type type = entry.status(ignored).type();
  // One without an extension may have been a folder of thousands; an editor's lock file is hidden.
  const fs::path name = entry.path().filename();
  const bool matters =
      wanted(entry.path()) || (name.extension().empty() && !name.string().starts_with('.'));
  if (matters && entry.is_symlink(ignored) &&
      (type == fs::file_type::not_found || type == fs::file_type::none))
    throw Error(ErrorKind::environment, "the link leads to nothing", entry.path().string(),
                "remove it, or make what it leads to available");
  if (type == fs::file_type::directory || !wanted(entry.path())) return false;
  if (type != fs::file_type::regular)
    throw Error(ErrorKind::environment, "this is not a regular file", entry.path().string(),
                "reading it might never end; remove it");
  return true;
}

}  // namespace

void each_file_below(const fs::path& folder, const std::function<bool(const fs::path&)>& wanted,
                     const std::function<void(const fs::path&)>& found) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    refuse_loop(it);
    if (is_wanted_file(*it, wanted)) found(it->path());
  }
  if (error)
    throw system_error(ErrorKind::environment, "cannot list the folder", folder.string(),
                       error.value());
}

}  // namespace assay::train::tokens
