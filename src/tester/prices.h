#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tester/board.h"

namespace assay::tester {

/// Hardware prices from the tester's configuration (docs/tester.md, "Prices"). A kind of hardware
/// has the first price whose `kind` is part of its name, ignoring case.
struct Prices {
  struct OfKind {
    std::string kind;
    double device_hour = 0;
    double node_hour = 0;
  };
  std::string currency;  ///< empty: no prices
  std::vector<OfKind> kinds;

  /// The prices of those that have one.
  [[nodiscard]] std::vector<HourPrice> of(std::span<const std::string> hardware) const;
};

/// Reads `prices:` from a YAML file. A missing file means no prices. Throws Error of kind config at
/// the place in the file.
[[nodiscard]] Prices read_prices(const std::filesystem::path& file);

}  // namespace assay::tester
