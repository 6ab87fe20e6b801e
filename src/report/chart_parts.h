#pragma once

#include <string>
#include <string_view>

#include "page/markup.h"
#include "report/axis.h"

namespace assay::report {

// Building blocks of all charts.

inline constexpr double kUnits = 1000;  ///< of the stretched inner drawing, in both directions

/// A length, with one decimal if necessary.
[[nodiscard]] std::string coordinate(double value);
/// "12.5%" for 0.125.
[[nodiscard]] std::string percent(double share);

/// Lines across at the ticks of the axis, with their values.
[[nodiscard]] page::Html value_grid(const Axis& y, double height);

/// A mark below the plot at this share of the width, with its text, which stays inside the frame.
[[nodiscard]] page::Html x_tick(double share, double height, const std::string& text);

/// A drawing of kUnits × kUnits, stretched to the width of the page.
[[nodiscard]] page::Html stretched(const page::Html& drawing, double height);

[[nodiscard]] page::Html legend_item(std::string_view classes, const std::string& label);

}  // namespace assay::report
