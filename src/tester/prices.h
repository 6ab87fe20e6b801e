#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tester/board.h"

namespace assay::tester {

/// What hardware costs, from the tester's configuration (docs/tester.md, "Prices"). A kind of
/// hardware has the first price whose `kind` is a part of its name, whatever the case of letters.
struct Prices {
  struct OfKind {
    std::string kind;
    double device_hour = 0;
    double node_hour = 0;
  };
  std::string currency;  ///< empty: there are no prices
  std::vector<OfKind> kinds;

  /// Those that have a price.
  [[nodiscard]] std::vector<HourPrice> of(std::span<const std::string> hardware) const;
};

/// `prices:` of a YAML file. A file that is not there is no prices. Throws Error of kind config at
/// the place in the file.
[[nodiscard]] Prices read_prices(const std::filesystem::path& file);

}  // namespace assay::tester
