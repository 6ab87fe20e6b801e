#include "report/experiment_prediction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "report/axis.h"
#include "report/experiment_text.h"
#include "report/html_parts.h"
#include "report/present.h"

namespace assay::report::experiment {

using page::Html;
using page::markup;

namespace {

constexpr std::size_t kMaxDots = 1000;  // the last ones, which were based on most data
constexpr double kSide = 340;           // of the plot, in pixels
constexpr double kLeft = 52;
constexpr double kTop = 10;

struct Dot {
  std::int64_t trial;
  double mean;
  double deviation;
  double measured;
};

struct Quality {
  double rmse = 0;
  double within = 0;  // fraction within two deviations
  double correlation = 0;
  bool correlated = false;
};

Quality quality_of(const std::vector<Dot>& dots) {
  Quality out;
  const auto n = static_cast<double>(dots.size());
  double mx = 0;
  double my = 0;
  for (const Dot& dot : dots) {
    mx += dot.mean / n;
    my += dot.measured / n;
  }
  double xx = 0;
  double yy = 0;
  double xy = 0;
  double squares = 0;
  double inside = 0;
  for (const Dot& dot : dots) {
    xx += (dot.mean - mx) * (dot.mean - mx);
    yy += (dot.measured - my) * (dot.measured - my);
    xy += (dot.mean - mx) * (dot.measured - my);
    squares += (dot.measured - dot.mean) * (dot.measured - dot.mean);
    inside += std::abs(dot.measured - dot.mean) <= 2 * dot.deviation ? 1 : 0;
  }
  out.rmse = std::sqrt(squares / n);
  out.within = inside / n;
  out.correlated = dots.size() >= 3 && xx > 0 && yy > 0;
  if (out.correlated) out.correlation = xy / std::sqrt(xx * yy);
  return out;
}

Html grid(const Axis& axis) {
  Html out;
  for (const double tick : axis.ticks) {
    const double x = kLeft + axis.at(tick) * kSide;
    const double y = kTop + (1 - axis.at(tick)) * kSide;
    const std::string text = tick_text(tick, axis);
    out += markup(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text "
        "class=\"tick\" x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
        kLeft, kLeft + kSide, y, kLeft - 8, y + 3.5, text);
    out += markup(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/><text "
        "class=\"tick\" x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text>",
        x, kTop, kTop + kSide, kTop + kSide + 17, text);
  }
  return out;
}

}  // namespace

Html prediction(const ExperimentView& view) {
  std::vector<Dot> dots;
  for (const automl::TrialRecord& trial : view.record.trials)
    if (trial.predicted && trial.predicted_deviation && trial.accuracy &&
        trial.status == automl::TrialStatus::ok)
      dots.push_back(
          {trial.id, *trial.predicted, std::max(0.0, *trial.predicted_deviation), *trial.accuracy});
  if (dots.empty()) return {};
  const Quality quality = quality_of(dots);
  const std::size_t all = dots.size();
  if (dots.size() > kMaxDots)
    dots.erase(dots.begin(), dots.end() - static_cast<std::ptrdiff_t>(kMaxDots));
  double low = 1;
  double high = 0;
  for (const Dot& dot : dots) {
    low = std::min({low, dot.measured, dot.mean - dot.deviation});
    high = std::max({high, dot.measured, dot.mean + dot.deviation});
  }
  const Axis axis = nice_axis(std::max(low, 0.0) * 100, std::min(high, 1.0) * 100, 5);
  const auto x_of = [&](double value) { return kLeft + axis.at(value * 100) * kSide; };
  const auto y_of = [&](double value) { return kTop + (1 - axis.at(value * 100)) * kSide; };
  Html marks;
  for (const Dot& dot : dots) {
    const double y = y_of(dot.measured);
    marks += markup(
        "<g class=\"{}\"><title>trial {}: predicted {} ± {}, measured {}</title><path "
        "d=\"M{:.1f} {:.1f}H{:.1f}\"/><circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/></g>",
        std::abs(dot.measured - dot.mean) <= 2 * dot.deviation ? "hit" : "miss", dot.trial,
        accuracy_text(dot.mean), accuracy_text(dot.deviation), accuracy_text(dot.measured),
        x_of(dot.mean - dot.deviation), y, x_of(dot.mean + dot.deviation), x_of(dot.mean), y);
  }
  const Html plot = markup(
      "<svg class=\"frame\" role=\"img\" aria-label=\"Predicted against "
      "measured accuracy of {} trials\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">{}<path "
      "class=\"diagonal\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>{}<text class=\"tick\" x=\"{:.1f}\" "
      "y=\"{:.1f}\" text-anchor=\"end\">predicted, %</text><text class=\"tick\" x=\"{:.1f}\" "
      "y=\"{:.1f}\">measured, %</text></svg>",
      all, kLeft + kSide + 16, kTop + kSide + 44, kLeft + kSide + 16, kTop + kSide + 44, grid(axis),
      kLeft, kTop + kSide, kLeft + kSide, kTop, marks, kLeft + kSide, kTop + kSide + 36, kLeft + 8,
      kTop + 14);
  const Html facts = html::key_values(std::array<html::KeyValue, 4>{
      {{"Trials", markup("{}", all)},
       {"Root mean square error", Html::text(accuracy_text(quality.rmse))},
       {"Within ± 2 deviations",
        markup("{} <span class=\"unit\">(95 % if the deviations are right)</span>",
               show_percent(quality.within))},
       {"Correlation", quality.correlated ? markup("{:.2f}", quality.correlation) : Html("–")}}});
  return markup("<div class=\"prediction\">{}{}</div>", plot, facts);
}

}  // namespace assay::report::experiment
