#include "report/chart_parts.h"

#include <fmt/format.h>

namespace assay::report {

using page::Html;
using page::markup;

std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string percent(double share) {
  return fmt::format("{:.4g}%", share * 100);
}

Html value_grid(const Axis& y, double height) {
  Html out;
  for (const double tick : y.ticks) {
    const double at = (1 - y.at(tick)) * height;
    out += markup(
        "<line class=\"grid{}\" x1=\"0\" x2=\"100%\" y1=\"{}\" y2=\"{}\"/>"
        "<text class=\"tick\" x=\"-8\" y=\"{}\" text-anchor=\"end\">{}</text>",
        tick == y.low ? " base" : "", coordinate(at), coordinate(at), coordinate(at + 3.5),
        tick_text(tick, y));
  }
  return out;
}

Html x_tick(double share, double height, const std::string& text) {
  return markup(
      "<line class=\"mark\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>"
      "<text class=\"tick\" x=\"{0}\" y=\"{3}\" text-anchor=\"{4}\">{5}</text>",
      percent(share), height, height + 4, height + 17,
      share < 0.02   ? "start"
      : share > 0.96 ? "end"
                     : "middle",
      text);
}

Html stretched(const Html& drawing, double height) {
  return markup(
      "<svg class=\"lines\" viewBox=\"0 0 {0} {0}\" preserveAspectRatio=\"none\" width=\"100%\" "
      "height=\"{1}\">{2}</svg>",
      kUnits, height, drawing);
}

Html legend_item(std::string_view classes, const std::string& label) {
  return markup("<li><i class=\"{}\"></i>{}</li>", classes, label);
}

}  // namespace assay::report
