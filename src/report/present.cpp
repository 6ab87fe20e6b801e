#include "report/present.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "catalog/metrics.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::report {

namespace {

bool is_bytes(std::string_view unit) {
  return unit == "bytes" || unit == "B" || unit == "byte";
}
bool is_ratio(std::string_view unit) {
  return unit == "ratio" || unit == "fraction";
}

// SI prefixes for units that grow large; ordered from the largest.
constexpr std::array<std::pair<double, const char*>, 5> kPrefixes{
    {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};

bool takes_prefix(std::string_view unit) {
  return unit == "J" || unit == "W" || unit == "Hz" || unit == "FLOP" || unit == "FLOPS" ||
         unit == "FLOP/s" || unit == "FLOPs" || unit == "B/s" || unit == "OPS";
}

std::string duration(double s) {
  if (s < 0) return "-" + duration(-s);
  if (s == 0) return "0 s";
  if (s < 1e-3) return format_number(s * 1e6) + " µs";
  if (s < 1) return format_number(s * 1e3) + " ms";
  if (s > 9e9) return format_number(s) + " s";
  return format_duration(from_seconds(s));
}

}  // namespace

Shown show(double value, std::string_view unit) {
  if (!std::isfinite(value)) return {"–", ""};
  if (unit == "s") return {duration(value), ""};
  if (is_bytes(unit)) return {value < 0 ? "-" + format_bytes(-value) : format_bytes(value), ""};
  if (is_ratio(unit)) return {format_number(value * 100), "%"};
  if (takes_prefix(unit)) {
    for (const auto& [factor, prefix] : kPrefixes)
      if (std::abs(value) >= factor * (factor == 1e3 ? 10 : 1))
        return {format_number(value / factor), prefix + std::string(unit)};
  }
  return {format_number(value), unit == "1" ? std::string() : std::string(unit)};
}

std::string show_percent(double ratio) {
  const double percent = ratio * 100;
  if (!std::isfinite(percent)) return "–";
  if (percent != 0 && std::abs(percent) < 0.1) return fmt::format("{:.2f} %", percent);
  if (std::abs(percent) < 10) return fmt::format("{:.1f} %", percent);
  return fmt::format("{:.0f} %", percent);
}

AxisUnit axis_unit(std::string_view unit, double largest) {
  largest = std::abs(largest);
  if (is_ratio(unit)) return {100, "%"};
  if (is_bytes(unit)) {
    static constexpr std::array<const char*, 5> kBinary{"B", "KiB", "MiB", "GiB", "TiB"};
    double factor = 1;
    std::size_t at = 0;
    while (largest * factor >= 1024 && at + 1 < kBinary.size()) {
      factor /= 1024;
      ++at;
    }
    return {factor, kBinary[at]};
  }
  if (unit == "s" && largest > 0 && largest < 1) {
    if (largest < 1e-3) return {1e6, "µs"};
    return {1e3, "ms"};
  }
  if (takes_prefix(unit)) {
    for (const auto& [factor, prefix] : kPrefixes)
      if (largest >= factor * (factor == 1e3 ? 10 : 1))
        return {1 / factor, prefix + std::string(unit)};
  }
  return {1, unit == "1" ? std::string() : std::string(unit)};
}

std::string metric_title(std::string_view name) {
  if (const auto* known = catalog::find_known_metric(name);
      known != nullptr && !known->title.empty())
    return std::string(known->title);
  std::string out(name);
  std::ranges::replace(out, '_', ' ');
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

std::string case_subtitle(const judge::CaseResult& result) {
  std::string out;
  const auto add = [&](const std::string& part) {
    if (part.empty()) return;
    if (!out.empty()) out += " · ";
    out += part;
  };
  add(result.model);
  add(result.framework);
  add(result.hardware);
  add(counted(result.nodes, "node") + " × " + counted(result.procs, "process", "processes"));
  return out;
}

const judge::Metric* find_metric(const judge::RoundResult& round, std::string_view name) {
  const auto found = std::ranges::find_if(
      round.metrics, [&](const judge::Metric& metric) { return metric.info.name == name; });
  return found == round.metrics.end() ? nullptr : &*found;
}

const judge::Summary* find_summary(const judge::CaseResult& result, std::string_view name) {
  const auto found = std::ranges::find_if(
      result.summary, [&](const judge::Summary& summary) { return summary.info.name == name; });
  return found == result.summary.end() ? nullptr : &*found;
}

std::optional<double> e2e_seconds(const judge::CaseResult& result) {
  const judge::Summary* summary = find_summary(result, "e2e_time");
  return summary == nullptr ? std::nullopt : std::optional(summary->median);
}

std::optional<Spread> spread_of(const judge::Summary& summary) {
  if (summary.mean == 0 || !std::isfinite(summary.mean)) return std::nullopt;
  if (summary.ci95_low && summary.ci95_high) {
    const double ratio = (*summary.ci95_high - *summary.ci95_low) / 2 / std::abs(summary.mean);
    if (std::isfinite(ratio)) return Spread{ratio, true};
  }
  if (summary.cv && std::isfinite(*summary.cv)) return Spread{std::abs(*summary.cv), false};
  return std::nullopt;
}

std::string spread_legend(const judge::RunResult& result) {
  bool interval = false;
  bool variation = false;
  for (const judge::CaseResult& case_result : result.cases) {
    const judge::Summary* summary = find_summary(case_result, case_result.headline);
    const auto spread = summary == nullptr ? std::nullopt : spread_of(*summary);
    if (spread) (spread->confidence ? interval : variation) = true;
  }
  if (!interval && !variation) return {};
  std::string text = "±: ";
  if (interval) text += "half of the 95 % confidence interval of the mean";
  if (interval && variation) text += "; of two rounds, ";
  if (variation) text += "the coefficient of variation";
  return text;
}

std::string verdict_words(const judge::CaseResult& result) {
  const bool said = result.validity == judge::Validity::valid && result.relaxed();
  return std::string(judge::to_string(result.validity)) + (said ? " under relaxed rules" : "");
}

std::string verdict_words(const judge::RunResult& result) {
  const bool said = result.validity == judge::Validity::valid &&
                    std::ranges::any_of(result.cases, &judge::CaseResult::relaxed);
  return std::string(judge::to_string(result.validity)) + (said ? " under relaxed rules" : "");
}

std::vector<ChangedRule> changed_rules(const judge::RunResult& result) {
  std::vector<ChangedRule> out;
  for (const judge::CaseResult& case_result : result.cases) {
    if (!case_result.rule_changes) continue;
    for (const catalog::RuleDifference& difference : *case_result.rule_changes) {
      const std::string text = catalog::difference_text(difference);
      auto same = std::ranges::find(out, text, &ChangedRule::text);
      if (same == out.end()) same = out.insert(out.end(), {text, difference.relaxed(), {}});
      same->cases.push_back(case_result.name);
    }
  }
  for (ChangedRule& rule : out)
    if (rule.cases.size() == result.cases.size()) rule.cases.clear();
  std::ranges::stable_partition(out, &ChangedRule::relaxed);
  return out;
}

int completed_rounds(const judge::CaseResult& result) {
  return static_cast<int>(
      std::ranges::count(result.rounds, RoundStatus::completed, &judge::RoundResult::status));
}

}  // namespace assay::report
