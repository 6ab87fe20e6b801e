#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay::code {

/// A file of the folder that is sent.
struct File {
  std::string path{};  ///< from the folder, with "/"
  std::uint64_t size = 0;
  std::string sha256{};  ///< 64 lower-case hex digits, of the content
  bool executable = false;

  bool operator==(const File&) const = default;
  static void fields(auto& self, auto&& field) {
    field("path", self.path);
    field("size", self.size);
    field("sha256", self.sha256);
    field.optional("executable", self.executable);
  }
};

/// A symbolic link that stays in the folder.
struct Link {
  std::string path{};
  std::string target{};  ///< as it stands in the link: relative

  bool operator==(const Link&) const = default;
  static void fields(auto& self, auto&& field) {
    field("path", self.path);
    field("target", self.target);
  }
};

/// What a folder holds. Folders without files are not kept.
struct Manifest {
  std::vector<File> files{};
  std::vector<Link> links{};

  bool operator==(const Manifest&) const = default;
  static void fields(auto& self, auto&& field) {
    field("files", self.files);
    field.optional("links", self.links);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

struct Limits {
  std::uint64_t bytes = 512ULL << 20;  ///< of one upload, in all
  std::size_t entries = 20'000;        ///< files and links
};

/// Everything that is wrong with a manifest, at most 20 texts, each with the path it is about:
/// paths that are absolute, climb or are not plain text, duplicates, names that differ by case
/// only, files below files, links that lead out, hashes that are none, and too much of anything.
[[nodiscard]] std::vector<std::string> problems_of(const Manifest& manifest, const Limits& limits);

/// That it is too much, and what the most of it is; empty: it is not. Hashes are not looked at.
[[nodiscard]] std::string too_much(const Manifest& manifest, const Limits& limits);

/// Throws Error of kind config for what is no manifest. Its content is for problems_of().
[[nodiscard]] Manifest read_manifest(const Json& json);

/// The name of what it holds: the same content in whatever order has the same one. 32 hex digits.
[[nodiscard]] std::string id_of(const Manifest& manifest);

[[nodiscard]] bool is_sha256(const std::string& text) noexcept;
[[nodiscard]] bool is_code_id(const std::string& text) noexcept;

/// The links' rule: relative, ".." only at its beginning, and never above the folder.
[[nodiscard]] bool stays_inside(const Link& link);

}  // namespace assay::code
