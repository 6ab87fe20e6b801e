#pragma once

#include <string>
#include <string_view>

#include "page/markup.h"
#include "report/axis.h"

namespace assay::report {

// The building blocks of all charts.

inline constexpr double kUnits = 1000;  ///< of the stretched inner drawing, in both directions

/// A length with a decimal only if needed.
[[nodiscard]] std::string coordinate(double value);
/// "12.5%" for 0.125.
[[nodiscard]] std::string percent(double share);

/// Horizontal lines at the axis's ticks, with their values.
[[nodiscard]] page::Html value_grid(const Axis& y, double height);

/// A tick below the plot at this fraction of the width, with its text kept inside the frame.
[[nodiscard]] page::Html x_tick(double share, double height, const std::string& text);

/// A drawing in kUnits × kUnits, stretched to the page's width.
[[nodiscard]] page::Html stretched(const page::Html& drawing, double height);

[[nodiscard]] page::Html legend_item(std::string_view classes, const std::string& label);

}  // namespace assay::report
