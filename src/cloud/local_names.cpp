#include "cloud/local_names.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <linux/limits.h>

#include "core/text.h"

namespace assay::cloud {

namespace fs = std::filesystem;

namespace {

Error refused(const std::string& message, const std::string& where) {
  return {ErrorKind::environment, message, where, "copy it by itself, to a name of your choice"};
}

bool leads_out(const fs::path& below) {
  return below.empty() || below.is_absolute() || *below.begin() == "..";
}

bool is_too_long(const fs::path& below) {
  const std::size_t most = NAME_MAX - std::string_view(kNotesSuffix).size();
  return std::ranges::any_of(below,
                             [&](const fs::path& part) { return part.string().size() > most; });
}

}  // namespace

std::vector<LocalName> local_names(const std::vector<ObjectInfo>& objects,
                                   const std::string& prefix, const std::string& where) {
  std::vector<LocalName> out;
  std::map<fs::path, std::string> files;    // with their keys
  std::map<fs::path, std::string> folders;  // with a key that needs each
  for (const ObjectInfo& object : objects) {
    const std::string key = object.key.substr(prefix.size());
    const std::string shown = printable(object.key);
    if (key.empty() || key.ends_with('/')) {
      if (object.size > 0)
        throw refused(fmt::format("'{}' has the name of a folder, and content", shown), where);
      continue;
    }
    const fs::path below = fs::path(key).lexically_normal();
    if (leads_out(below))
      throw refused(fmt::format("the key '{}' leads out of the folder", shown), where);
    if (!below.has_filename() || below == "." || key.find('\0') != std::string::npos ||
        is_too_long(below))
      throw refused(fmt::format("no file can have the name of the key '{}'", shown), where);
    const auto [at, is_new] = files.emplace(below, object.key);
    if (!is_new)
      throw refused(
          fmt::format("'{}' and '{}' would be the same file", printable(at->second), shown), where);
    for (fs::path up = below.parent_path(); !up.empty(); up = up.parent_path())
      folders.emplace(up, object.key);
    out.push_back({object, below});
  }
  for (const auto& [file, key] : files) {
    if (const auto folder = folders.find(file); folder != folders.end())
      throw refused(fmt::format("'{}' would be a file and, for '{}', a folder", printable(key),
                                printable(folder->second)),
                    where);
    for (const char* suffix : {kPartialSuffix, kNotesSuffix})
      if (const auto taken = files.find(file.string() + suffix); taken != files.end())
        throw refused(fmt::format("'{}' has the name that '{}' has while it is fetched",
                                  printable(taken->second), printable(key)),
                      where);
  }
  return out;
}

}  // namespace assay::cloud
