#include "code/folder_manifest.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/json_fields.h"
#include "core/one_line.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::code {

namespace {

constexpr std::size_t kMaxPath = 1024;
constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxProblems = 20;

// What cannot be seen is spelled: the file has to be found by it.
std::string shown_path(std::string_view path) {
  if (is_one_line(path)) return "'" + ellipsize(printable(path), 120) + "'";
  std::string spelled;
  for (const char c : path)
    spelled += c >= ' ' && c <= '~' ? std::string(1, c)
                                    : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return "'" + ellipsize(spelled, 120) + "'";
}

// Nothing: it is a path below a folder.
std::string_view fault_of(std::string_view path) {
  if (path.empty()) return "an empty path";
  if (path.size() > kMaxPath) return "a path of more than 1024 bytes";
  if (!is_one_line(path))
    return "a path that is not plain UTF-8 text, or has marks that cannot be seen";
  if (path.front() == '/') return "an absolute path";
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") return "a path that leads out of the folder";
    if (part.empty() || part == ".") return "a path with an empty part";
    if (part.size() > kMaxName) return "a name of more than 255 bytes";
  }
  return {};
}

class ManifestCheck {
 public:
  ManifestCheck(const Manifest& manifest, const Limits& limits)
      : manifest_(manifest), limits_(limits) {}

  std::vector<std::string> run() {
    if (std::string large = too_much(manifest_, limits_); !large.empty()) {
      problem(std::move(large));
      return std::move(problems_);
    }
    for (const File& file : manifest_.files) {
      entry(file.path, true);
      if (!is_sha256(file.sha256)) problem(shown_path(file.path) + ": not a SHA-256");
      const auto [known, fresh] = sizes_.emplace(file.sha256, file.size);
      if (!fresh && known->second != file.size)
        problem(shown_path(file.path) + ": one content cannot have two sizes");
    }
    for (const Link& link : manifest_.links) {
      entry(link.path, false);
      if (!stays_inside(link))
        problem(fmt::format("{} is a link that leads out of the folder: {}", shown_path(link.path),
                            shown_path(link.target)));
    }
    for (const std::string& leaf : paths_) below_no_leaf(leaf);
    return std::move(problems_);
  }

 private:
  void problem(std::string text) {
    if (problems_.size() < kMaxProblems) problems_.push_back(std::move(text));
  }

  void entry(const std::string& path, bool is_file) {
    if (const std::string_view fault = fault_of(path); !fault.empty())
      return problem(shown_path(path) + ": " + std::string(fault));
    if (!paths_.insert(path).second)
      return problem(shown_path(path) +
                     (is_file ? " is named twice" : ": a link and another entry"));
    const auto [other, fresh] = folded_.emplace(to_lower(path), path);
    if (!fresh)
      problem(fmt::format("{} and {} differ by case only", shown_path(other->second),
                          shown_path(path)));
  }

  // Nothing lies below a file or a link; and folders do not differ by case only.
  void below_no_leaf(const std::string& leaf) {
    for (std::size_t at = leaf.find('/'); at != std::string::npos; at = leaf.find('/', at + 1)) {
      const std::string above = leaf.substr(0, at);
      if (paths_.contains(above))
        return problem(shown_path(leaf) + " lies below " + shown_path(above) +
                       ", which is not a folder");
      const auto [other, fresh] = folded_.emplace(to_lower(above), above);
      if (!fresh && other->second != above)
        return problem(fmt::format("{} and {} differ by case only", shown_path(other->second),
                                   shown_path(above)));
    }
  }

  const Manifest& manifest_;
  const Limits& limits_;
  std::vector<std::string> problems_;
  std::set<std::string> paths_;
  std::map<std::string, std::string> folded_;  ///< in lower case → as it is
  std::map<std::string, std::uint64_t> sizes_;
};

}  // namespace

std::uint64_t Manifest::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const File& file : files) sum += file.size;
  return sum;
}

namespace {

// Of the largest first, at most five: "'data.bin' (2.00 GiB)".
template <class Map, class Show>
std::string largest_of(const Map& sizes, Show show) {
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  for (const auto& [name, size] : sizes) sorted.emplace_back(size, name);
  std::ranges::sort(sorted, std::ranges::greater());
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < 5; ++i)
    text +=
        (i == 0 ? "" : ", ") + shown_path(sorted[i].second) + " (" + show(sorted[i].first) + ")";
  return text;
}

}  // namespace

std::string too_much(const Manifest& manifest, const Limits& limits) {
  const std::size_t entries = manifest.files.size() + manifest.links.size();
  if (entries > limits.entries) {
    std::map<std::string, std::uint64_t> tops;
    for (const File& file : manifest.files) ++tops[file.path.substr(0, file.path.find('/'))];
    return fmt::format("more than {} files and links; the most are in {}", limits.entries,
                       largest_of(tops, [](std::uint64_t n) { return std::to_string(n); }));
  }
  std::uint64_t left = limits.bytes;
  for (const File& file : manifest.files) {
    if (file.size > left) {
      std::map<std::string, std::uint64_t> sizes;
      for (const File& one : manifest.files) sizes[one.path] = one.size;
      return fmt::format("more than {} in all; the largest are {}",
                         format_bytes(static_cast<double>(limits.bytes)),
                         largest_of(sizes, [](std::uint64_t bytes) {
                           return format_bytes(static_cast<double>(bytes));
                         }));
    }
    left -= file.size;
  }
  return {};
}

std::vector<std::string> problems_of(const Manifest& manifest, const Limits& limits) {
  return ManifestCheck(manifest, limits).run();
}

Manifest read_manifest(const Json& json) {
  return fields_from_json<Manifest>(json, "the manifest");
}

std::string id_of(const Manifest& manifest) {
  Manifest sorted = manifest;
  std::ranges::sort(sorted.files, {}, &File::path);
  std::ranges::sort(sorted.links, {}, &Link::path);
  return sha256(dump_line(fields_to_json(sorted))).substr(0, 32);
}

namespace {
bool is_hex(const std::string& text, std::size_t length) noexcept {
  return text.size() == length && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}
}  // namespace

bool is_sha256(const std::string& text) noexcept {
  return is_hex(text, 64);
}

bool is_code_id(const std::string& text) noexcept {
  return is_hex(text, 32);
}

bool stays_inside(const Link& link) {
  if (link.target.empty() || link.target.size() > kMaxPath || link.target.front() == '/' ||
      !is_one_line(link.target))
    return false;
  auto depth = std::ranges::count(link.path, '/');
  bool climbing = true;
  for (const std::string_view part : split(link.target, '/')) {
    if (part == "..") {
      // Behind a name it could climb out of where a link has led.
      if (!climbing || --depth < 0) return false;
    } else if (!part.empty() && part != ".") {
      climbing = false;
    }
  }
  return true;
}

}  // namespace assay::code
