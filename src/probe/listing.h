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

/// The files below a path: names and sizes, not contents.
struct Listing {
  std::string path;
  std::string problem;  ///< why there is none: missing, not readable; empty: there is
  /// Hash of relative names, kinds and sizes in a fixed order: equal on machines with equal
  /// content.
  std::string hash;
  std::uint64_t entries = 0;  ///< that went into the hash; files, folders and links
  std::uint64_t bytes = 0;    ///< of the files among them
  bool complete = true;       ///< false: a limit was reached
  /// A listing that was cut by the number of entries has the same first ones everywhere; one that
  /// was cut by time does not.
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

/// Lists a folder with everything below it, or one file. Names are sorted, folders are entered as
/// they come, links to files count as the files, links to folders are not followed. Bounded; does
/// not throw.
[[nodiscard]] Listing list_data(const std::filesystem::path& path,
                                const ListingLimits& limits = {});

}  // namespace assay::probe
