#include "paths.h"

#include <algorithm>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::app {

namespace fs = std::filesystem;

fs::path find_suite(const std::string& name, const fs::path& conf_dir) {
  std::error_code ec;
  const fs::file_status given = fs::status(name, ec);
  if (fs::is_regular_file(given)) return name;
  const fs::path suites = conf_dir / "suites";
  if (name.find('/') == std::string::npos) {
    fs::path named = suites / (name.ends_with(".yaml") ? name : name + ".yaml");
    if (fs::is_regular_file(named, ec)) return named;
  }
  if (fs::exists(given))
    throw Error(ErrorKind::usage,
                fs::is_directory(given) ? "is a folder, not a suite"
                                        : "not a regular file: a suite is read more than once",
                name,
                fs::is_directory(given)
                    ? "give the suite's file, such as " + (fs::path(name) / "suite.yaml").string()
                    : "write it to a file first");
  const std::vector<std::string> known = suite_names(conf_dir);
  throw Error(ErrorKind::usage, "there is no suite '" + name + "'" + did_you_mean(name, known), {},
              "give a file, or the name of a suite that comes with Assay: " + join(known, ", "));
}

std::vector<std::string> suite_names(const fs::path& conf_dir) {
  std::error_code ec;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(conf_dir / "suites", ec))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
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

std::string new_run_id() {
  std::random_device entropy;
  return fmt::format("run{}-{:04x}", compact_utc(wall_now_ns()), entropy() & 0xFFFFU);
}

}  // namespace assay::app
