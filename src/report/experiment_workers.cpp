#include "report/experiment_workers.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "report/axis.h"
#include "report/chart.h"
#include "report/html_parts.h"
#include "report/present.h"

namespace assay::report::experiment {

using page::Html;
using page::markup;

namespace {

using automl::WorkerLine;
using automl::WorkerSpan;
using Kind = WorkerSpan::Kind;

constexpr std::size_t kMaxWorkers = 64;
constexpr std::size_t kMaxSpans = 20'000;  // over all lines
constexpr double kWorkerRow = 22;

// Neighboring trials differ in shade.
std::string_view kind_class(const WorkerSpan& span, std::size_t number = 0) {
  switch (span.kind) {
    case Kind::train:
      return span.status == automl::TrialStatus::failed ? "t-failed"
             : number % 2 == 0                          ? "t-train"
                                                        : "t-train odd";
    case Kind::lost:
      return "t-lost";
    case Kind::wait:
      return "t-wait";
    case Kind::idle:
      break;
  }
  return "t-idle";
}

std::string_view kind_word(Kind kind) {
  switch (kind) {
    case Kind::train:
      return "training";
    case Kind::lost:
      return "lost with its worker";
    case Kind::wait:
      return "waiting between trials";
    case Kind::idle:
      break;
  }
  return "idle";
}

Html span_svg(const WorkerSpan& span, std::size_t number, const Axis& x, double top,
              double min_width) {
  const double from = x.at(span.from_s);
  const double width = x.at(span.to_s) - from;
  if (!(width > 0) || (width < min_width && span.kind != Kind::lost)) return {};
  std::string title = std::string(kind_word(span.kind));
  if (span.trial >= 0) title = fmt::format("trial {}: {}", span.trial, title);
  if (span.status && span.kind == Kind::train) title += ", " + std::string(to_text(*span.status));
  Html out = markup(
      "<rect class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" y=\"{:.1f}\" height=\"{}\"><title>{}, {}"
      "</title></rect>",
      kind_class(span, number), from * 100, std::max(width * 100, 0.05), top, kWorkerRow - 5, title,
      show(span.to_s - span.from_s, "s").text());
  if (span.kind == Kind::train && width > 0.022)
    out += markup("<text class=\"t-name\" x=\"{:.3f}%\" y=\"{:.1f}\">{}</text>",
                  (from + width / 2) * 100, top + 12.5, span.trial);
  return out;
}

// Workers with losses come first, then the idlest: they show where a cluster's time goes.
std::vector<const WorkerLine*> chosen(const std::vector<WorkerLine>& lines) {
  std::vector<const WorkerLine*> out;
  for (const WorkerLine& line : lines) out.push_back(&line);
  if (out.size() <= kMaxWorkers) return out;
  const auto trouble = [](const WorkerLine* line) {
    return std::pair(line->departures.size(),
                     line->seconds(Kind::wait) + line->seconds(Kind::idle));
  };
  std::ranges::stable_sort(
      out, [&](const WorkerLine* a, const WorkerLine* b) { return trouble(a) > trouble(b); });
  out.resize(kMaxWorkers);
  std::ranges::sort(out, {}, &WorkerLine::rank);
  return out;
}

Html legend(const std::vector<WorkerLine>& lines) {
  double all = 0;
  for (const WorkerLine& line : lines)
    for (const WorkerSpan& span : line.spans) all += span.to_s - span.from_s;
  Html out;
  for (const Kind kind : {Kind::train, Kind::wait, Kind::idle, Kind::lost}) {
    double sum = 0;
    for (const WorkerLine& line : lines) sum += line.seconds(kind);
    out += markup("<li><i class=\"box {}\"></i>{} <b>{}</b></li>", kind_class({.kind = kind}),
                  kind_word(kind), show_percent(all > 0 ? sum / all : 0));
  }
  return out;
}

}  // namespace

Html worker_lines(const ExperimentView& view) {
  if (view.workers.empty() || !(view.record.elapsed_s > 0)) return {};
  const std::vector<const WorkerLine*> lines = chosen(view.workers);
  const Axis x = time_axis(view.record.elapsed_s, 6);
  std::size_t spans = 0;
  for (const WorkerLine* line : lines) spans += line->spans.size();
  // Draws many spans as one where they could not be told apart anyway.
  const double min_width = spans > kMaxSpans ? static_cast<double>(lines.size()) / kMaxSpans : 0;
  const double height = kWorkerRow * static_cast<double>(lines.size());
  Html drawing;
  for (const double tick : x.ticks) {
    const double at = x.at(tick);
    drawing += markup(
        "<line class=\"grid\" x1=\"{0:.3f}%\" x2=\"{0:.3f}%\" y1=\"0\" y2=\"{1}\"/><text "
        "class=\"tick\" x=\"{0:.3f}%\" y=\"{2}\" text-anchor=\"{3}\">{4}</text>",
        at * 100, height, height + 15,
        at < 0.02   ? "start"
        : at > 0.96 ? "end"
                    : "middle",
        time_text(tick, x));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const WorkerLine& line = *lines[i];
    const double top = kWorkerRow * static_cast<double>(i) + 2;
    drawing += markup(
        "<text class=\"tick\" x=\"-8\" y=\"{:.1f}\" text-anchor=\"end\">{}"
        "<title>rank {} on {}</title></text>",
        top + 12.5, line.rank, line.rank, line.host);
    std::size_t trials = 0;
    for (const WorkerSpan& span : line.spans)
      drawing += span_svg(span, span.trial >= 0 ? trials++ : 0, x, top, min_width);
    for (const double at : line.departures)
      drawing += markup(
          "<g class=\"t-gone\"><title>rank {} was lost</title><line x1=\"{:.3f}%\" x2=\"{:.3f}%\" "
          "y1=\"{:.1f}\" y2=\"{:.1f}\"/></g>",
          line.rank, x.at(at) * 100, x.at(at) * 100, top - 2, top + kWorkerRow - 3);
  }
  Html out = render_frame({.label = fmt::format("What {} workers did over {}", view.workers.size(),
                                                show(x.high, "s").text()),
                           .drawing = drawing,
                           .height = height,
                           .legend = legend(view.workers),
                           .frame = "timeline"});
  if (lines.size() < view.workers.size())
    out +=
        html::remark(markup("{} of {} workers: those that were lost or waited most. "
                            "The shares are those of all.",
                            lines.size(), view.workers.size()));
  return out;
}

}  // namespace assay::report::experiment
