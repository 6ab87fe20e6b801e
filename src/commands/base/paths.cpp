#include "commands/base/paths.h"

#include <algorithm>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "core/time.h"
#include "lang/language.h"

namespace assay::commands {

namespace fs = std::filesystem;

fs::path find_suite(const std::string& name, const catalog::ConfDirs& conf_dirs) {
  std::error_code ec;
  const fs::file_status given = fs::status(name, ec);
  if (fs::is_regular_file(given)) return name;
  if (name.find('/') == std::string::npos) {
    const auto named = catalog::conf_files(conf_dirs, "suites");
    const auto found = named.find(name.ends_with(".yaml") ? name.substr(0, name.size() - 5) : name);
    if (found != named.end()) return found->second;
  }
  if (fs::exists(given))
    throw Error(ErrorKind::usage,
                fs::is_directory(given) ? "is a folder, not a suite"
                                        : "not a regular file: a suite is read more than once",
                name,
                fs::is_directory(given)
                    ? "give the suite's file, such as " + (fs::path(name) / "suite.yaml").string()
                    : "write it to a file first");
  const std::vector<std::string> known = suite_names(conf_dirs);
  throw Error(ErrorKind::usage, "there is no suite '" + name + "'" + did_you_mean(name, known), {},
              "give a file, or the name of a suite that comes with Assay: " + join(known, ", "));
}

std::vector<std::string> suite_names(const catalog::ConfDirs& conf_dirs) {
  std::vector<std::string> names;
  for (const auto& [name, file] : catalog::conf_files(conf_dirs, "suites")) names.push_back(name);
  return names;
}

std::string read_given_file(const std::string& path) {
  constexpr std::uintmax_t kMaxBytes = 4U << 20;
  std::error_code ec;
  if (!fs::is_regular_file(path, ec))
    throw Error(ErrorKind::usage,
                fs::exists(path, ec) ? "not a regular file" : "there is no such file", path);
  if (fs::file_size(path, ec) > kMaxBytes)
    throw Error(ErrorKind::usage, "the file is larger than 4 MiB", path);
  return read_file(path);
}

std::string place_of_page(std::string_view page) {
  const auto in_language = [&](const fs::path& docs) {
    const fs::path chinese = docs / "zh" / page.substr(page.find('/') + 1);
    std::error_code ec;
    const bool there =
        lang::reader_language() == lang::Language::chinese && fs::exists(chinese, ec);
    return there ? chinese : docs / page.substr(page.find('/') + 1);
  };
  try {
    const fs::path beside = catalog::find_conf_dir(program_folder() / "assay", nullptr) / "..";
    // In the source tree, and as installed: share/doc/assay/docs for share/assay/conf.
    for (const fs::path& docs : {beside / "docs", beside / "../doc/assay/docs"})
      if (const fs::path file = in_language(docs); fs::exists(file))
        return fs::weakly_canonical(file).string();
  } catch (const Error&) {
    // A program without its configuration has no documentation either.
  } catch (const fs::filesystem_error&) {
  }
  return std::string(page);
}

std::string new_run_id() {
  std::random_device entropy;
  return fmt::format("run{}-{:04x}", compact_utc(wall_now_ns()), entropy() & 0xFFFFU);
}

}  // namespace assay::commands
