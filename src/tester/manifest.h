#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace assay::tester {

struct ManifestFile {
  std::string path;  ///< relative to the run directory, with "/"
  std::uint64_t size = 0;
  std::string sha256;
};

struct Manifest {
  std::vector<ManifestFile> files;
  Json claim = Json::object();  ///< claim.h

  [[nodiscard]] std::uint64_t bytes() const;
};

struct ManifestLimits {
  std::size_t files = 20'000;
  std::uint64_t bytes = std::uint64_t{4} << 30;
};

/// Why `path` may not be a run's file, or "". It must be relative, in UTF-8, without "..", ".",
/// empty parts, backslashes or control characters, and have at most 400 bytes and 8 parts.
[[nodiscard]] std::string path_fault(std::string_view path);

/// Whether the server creates the file itself: it is then accepted but never read.
[[nodiscard]] bool is_derived(std::string_view path);

[[nodiscard]] Json to_json(const Manifest& manifest);

/// Throws Refusal 400 if it is invalid, 413 if it is too large.
[[nodiscard]] Manifest parse_manifest(const Json& json, const ManifestLimits& limits);

}  // namespace assay::tester
