#pragma once

#include <optional>
#include <string_view>

namespace assay::judge {

/// A number as programs print it (docs/suite.md): "1234.5", "-1e-3", "1,234.5", "1_234", "12.3k",
/// "1.5 Gi", "45%" (a hundredth of it). Nothing if it is not a number, not finite or ambiguous:
/// "1,5", "1.234,5", "1 234".
[[nodiscard]] std::optional<double> printed_number(std::string_view text);

/// A speed as progress bars print it, in units of work per second; for the unit "it": "12.5it/s",
/// "1.2kit/s", "2.00s/it", "12ms/it".
struct PrintedSpeed {
  std::optional<double> value;  ///< nothing: not a speed of that unit
  bool unknown_yet = false;     ///< "?it/s": not known to the bar yet
};
[[nodiscard]] PrintedSpeed printed_speed(std::string_view text, std::string_view unit);

}  // namespace assay::judge
