#include "launch/cloud/result_files.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <linux/limits.h>

#include "core/text.h"
#include "evidence/file_record.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMaxResult = 16 << 20;  // larger files are checkpoints, not results
// Leaves room for the folder before it, and for what a file is called until it is whole.
constexpr std::size_t kMaxPath = PATH_MAX / 2;
constexpr std::size_t kMaxName = NAME_MAX - 32;

bool is_result(const cloud::ObjectInfo& object, const fs::path& below) {
  return below.extension() == ".json" && object.size <= kMaxResult && below.is_relative() &&
         !below.string().starts_with("..");
}

bool is_nameable(const fs::path& below) {
  return below.string().size() <= kMaxPath && evidence::is_plain_path(below.string()) &&
         std::ranges::all_of(below,
                             [](const fs::path& part) { return part.string().size() <= kMaxName; });
}

}  // namespace

ResultFiles result_files(const std::vector<cloud::ObjectInfo>& objects, const std::string& prefix) {
  ResultFiles out;
  std::set<fs::path> files;
  std::set<fs::path> folders;
  for (const cloud::ObjectInfo& object : objects) {
    const fs::path below = fs::path(object.key.substr(prefix.size())).lexically_normal();
    if (!is_result(object, below)) continue;
    const std::string name = printable(below.string());
    std::vector<fs::path> above;
    for (fs::path up = below.parent_path(); !up.empty(); up = up.parent_path()) above.push_back(up);
    if (!is_nameable(below))
      out.impossible.push_back(fmt::format("{} has a name that no file can have", name));
    else if (files.contains(below))
      out.impossible.push_back(fmt::format("{} is there twice", name));
    else if (folders.contains(below))
      out.impossible.push_back(fmt::format("{} is a file and a folder", name));
    else if (const auto file = std::ranges::find_if(
                 above, [&](const fs::path& up) { return files.contains(up); });
             file != above.end())
      out.impossible.push_back(
          fmt::format("{} is in a folder that is a file: {}", name, printable(file->string())));
    else {
      files.insert(below);
      folders.insert(above.begin(), above.end());
      out.files.push_back({object, below});
    }
  }
  return out;
}

}  // namespace assay::launch
