#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/json_fields.h"
#include "core/time.h"

namespace assay::probe {

struct ListingLimits {
  std::uint64_t entries = 100'000;
  Nanoseconds time = std::chrono::seconds(10);
};

/// Names and sizes, but not contents, of everything below a path.
struct Listing {
  std::string path;
  std::string problem;  ///< why there is no listing: missing, unreadable; empty if there is
  /// Hash of relative names, kinds and sizes in a fixed order: equal for equal content on any
  /// machine.
  std::string hash;
  std::uint64_t entries = 0;  ///< included in the hash: files, folders and links
  std::uint64_t bytes = 0;    ///< of the files among them
  bool complete = true;       ///< false: a limit was reached
  /// A listing cut by the number of entries has the same first entries everywhere; one cut by time
  /// does not.
  bool comparable = true;

  static void fields(auto& self, auto&& field) {
    field("path", self.path);
    field("problem", self.problem);
    field("hash", self.hash);
    field("entries", self.entries);
    field("bytes", self.bytes);
    field("complete", self.complete);
    field("comparable", self.comparable);
  }
};

/// Lists a folder with everything below it, or a single file. Names are sorted, folders are entered
/// in order, links to files count as the files, links to folders are not followed. Bounded; does
/// not throw.
[[nodiscard]] Listing list_data(const std::filesystem::path& path,
                                const ListingLimits& limits = {});

}  // namespace assay::probe
