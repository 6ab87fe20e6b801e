#include "tester/manifest.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/run_layout.h"
#include "core/text.h"
#include "core/units.h"
#include "serve/refusal.h"

namespace assay::tester {

namespace {

constexpr std::size_t kMaxPath = 400;
constexpr std::size_t kMaxPathParts = 8;

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

ManifestFile parse_file(const Json& json, std::size_t n) {
  const auto bad = [&](const std::string& why) {
    return serve::Refusal(400, "bad_manifest", fmt::format("files[{}]: {}", n, why),
                          "a file is {\"path\", \"size\", \"sha256\"}");
  };
  if (!json.is_object()) throw bad("not an object");
  ManifestFile file;
  const auto path = json.find("path");
  const auto size = json.find("size");
  const auto hash = json.find("sha256");
  if (path == json.end() || !path->is_string()) throw bad("'path' must be text");
  file.path = path->get<std::string>();
  if (const std::string fault = path_fault(file.path); !fault.empty())
    throw serve::Refusal(
        400, "bad_path",
        fmt::format("files[{}]: {}: {}", n, fault, ellipsize(printable(file.path), 80)),
        "paths are relative to the run directory");
  if (size == json.end() || !size->is_number_unsigned())
    throw bad("'size' must be a whole number of bytes");
  file.size = size->get<std::uint64_t>();
  if (hash == json.end() || !hash->is_string() || !is_sha256(hash->get_ref<const std::string&>()))
    throw bad("'sha256' must be 64 lower-case hex digits");
  file.sha256 = hash->get<std::string>();
  return file;
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const ManifestFile& file : files) sum += file.size;
  return sum;
}

std::string path_fault(std::string_view path) {
  if (path.empty()) return "the path is empty";
  if (path.size() > kMaxPath) return fmt::format("the path has more than {} bytes", kMaxPath);
  if (path.front() == '/') return "the path is absolute";
  if (printable(path) != path) return "the path has control characters, or is not UTF-8";
  for (const char c : path)
    if (c == '\\' || c == '\n' || c == '\t') return "the path has a character that is not allowed";
  const std::vector<std::string_view> parts = split(path, '/');
  if (parts.size() > kMaxPathParts)
    return fmt::format("the path has more than {} parts", kMaxPathParts);
  for (const std::string_view part : parts) {
    if (part.empty() || part == ".") return "the path has an empty part";
    if (part == "..") return "the path leads out of the folder";
    if (part.size() > 255) return "a part of the path has more than 255 bytes";
  }
  return {};
}

bool is_derived(std::string_view path) {
  const layout::RunFile* file = layout::find_run_file(path);
  return file != nullptr && file->role == layout::FileRole::derived;
}

Json to_json(const Manifest& manifest) {
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files)
    files.push_back({{"path", file.path}, {"size", file.size}, {"sha256", file.sha256}});
  return {{"files", std::move(files)}, {"claim", manifest.claim}};
}

Manifest parse_manifest(const Json& json, const ManifestLimits& limits) {
  const auto files = json.find("files");
  if (files == json.end() || !files->is_array() || files->empty())
    throw serve::Refusal(400, "bad_manifest", "'files' must be a list of files");
  if (files->size() > limits.files)
    throw serve::Refusal(
        413, "too_many_files",
        fmt::format("{} files; this tester takes {}", files->size(), limits.files));
  const auto claim = json.find("claim");
  if (claim == json.end() || !claim->is_object())
    throw serve::Refusal(400, "bad_manifest", "'claim' must be an object: what the run claims");
  Manifest manifest;
  manifest.claim = *claim;
  std::set<std::string> paths;
  std::set<std::string> folders;
  std::uint64_t bytes = 0;
  for (const Json& entry : *files) {
    ManifestFile file = parse_file(entry, manifest.files.size());
    // Compared with the remainder, so that the sum cannot overflow.
    if (file.size > limits.bytes - bytes)
      throw serve::Refusal(413, "too_large",
                           fmt::format("the run has more than {}, which is what this tester takes",
                                       format_bytes(static_cast<double>(limits.bytes))),
                           "limit the ranks' logs with limits.output");
    bytes += file.size;
    if (!paths.insert(file.path).second)
      throw serve::Refusal(400, "bad_path", "two files have the same path: " + file.path);
    for (auto at = file.path.find('/'); at != std::string::npos; at = file.path.find('/', at + 1))
      folders.insert(file.path.substr(0, at));
    manifest.files.push_back(std::move(file));
  }
  for (const std::string& path : paths)
    if (folders.contains(path))
      throw serve::Refusal(400, "bad_path", "a file has the path of a folder: " + path);
  if (!paths.contains(std::string(layout::kPlan)) || !paths.contains(std::string(layout::kJournal)))
    throw serve::Refusal(400, "bad_manifest", "a run has plan.json and journal.jsonl",
                         "send the whole run directory");
  return manifest;
}

}  // namespace assay::tester
