#include "train/data/set_files.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"

namespace assay::train::data {

namespace fs = std::filesystem;

void require_folder(const fs::path& folder, const std::string& set) {
  if (folder.empty())
    throw Error(ErrorKind::config, fmt::format("the data set {} needs a folder", set), "data set",
                "give the path of its files");
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status))
    throw Error(ErrorKind::environment, "there is no such folder", folder.string(),
                fmt::format("give the folder of the data set {}", set));
  if (!fs::is_directory(status))
    throw Error(ErrorKind::environment, "this is not a folder", folder.string(),
                fmt::format("give the folder of the data set {}, not a file", set));
  fs::directory_iterator entries(folder, error);
  if (error)
    throw system_error(ErrorKind::environment, "cannot list the folder", folder.string(),
                       error.value());
}

fs::path find_set_folder(const fs::path& folder, const std::string& set,
                         std::initializer_list<std::string_view> below, std::string_view file,
                         const std::string& advice) {
  require_folder(folder, set);
  std::error_code ignored;
  for (const std::string_view name : below) {
    const fs::path candidate = name.empty() ? folder : folder / name;
    if (fs::exists(candidate / file, ignored)) return candidate;
    if (fs::exists(candidate / (std::string(file) + ".gz"), ignored)) return candidate;
  }
  throw Error(ErrorKind::environment, fmt::format("there is no {} in this folder", file),
              folder.string(), advice);
}

std::string read_set_file(const fs::path& path, const std::string& advice) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    if (fs::exists(path.string() + ".gz", ignored))
      throw Error(ErrorKind::environment, "the file is compressed", path.string() + ".gz",
                  fmt::format("unpack it: gunzip {}.gz", path.string()));
    throw Error(ErrorKind::environment, "there is no such file", path.string(), advice);
  }
  if (const fs::file_type type = fs::status(path, ignored).type();
      type != fs::file_type::regular && type != fs::file_type::directory)
    throw Error(ErrorKind::environment, "this is not a regular file", path.string(), advice);
  std::string content = read_file(path);
  if (content.starts_with("\x1f\x8b"))
    throw Error(ErrorKind::environment, "the file is compressed though its name does not say so",
                path.string(), "rename it to end in .gz and run gunzip on it");
  return content;
}

void require_classes(const ImageSetOptions& options, std::int64_t found, const std::string& where) {
  if (options.classes != 0 && options.classes != found)
    throw Error(
        ErrorKind::config,
        fmt::format("the data set has {} classes, but {} are asked for", found, options.classes),
        where, "leave the number of classes out, or use the data set that has them");
}

}  // namespace assay::train::data
