#include "report/present.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "judge/provenance.h"

namespace assay::report {

namespace {

bool is_bytes(std::string_view unit) {
  return unit == "bytes" || unit == "B" || unit == "byte";
}
bool is_ratio(std::string_view unit) {
  return unit == "ratio" || unit == "fraction";
}

// SI prefixes for units that grow large, largest first.
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

// A multiple of 10^place, with commas between thousands.
std::string rounded_to(double value, int place) {
  const double unit = std::pow(10.0, place);
  double rounded = place > 0 ? std::round(value / unit) * unit : value;
  if (std::abs(rounded) < unit / 2) rounded = 0;  // not "-0"
  const std::string text = fmt::format("{:.{}f}", rounded, std::max(0, -place));
  const std::size_t sign = rounded < 0 ? 1 : 0;
  const std::size_t whole = std::min(text.find('.'), text.size());
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > sign && i < whole && (whole - i) % 3 == 0) out += ',';
    out += text[i];
  }
  return out;
}

// The power of ten of the leading digit after rounding the value to `digits` digits.
int leading_place(double value, int digits) {
  const int place = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const double unit = std::pow(10.0, place - digits + 1);
  return std::round(std::abs(value) / unit) * unit >= std::pow(10.0, place + 1) ? place + 1 : place;
}

}  // namespace

std::string Shown::text() const {
  const std::string value = half.empty() ? number : number + " ± " + half;
  return unit.empty() ? value : value + " " + unit;
}

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

Shown show(double value, std::string_view unit, std::optional<double> half) {
  constexpr int kHalfDigits = 2;
  constexpr int kMaxDigits = 6;
  if (!half || !std::isfinite(*half) || !std::isfinite(value)) return show(value, unit);
  const bool clock = unit == "s" && std::abs(value) >= 60;  // "3 min 26 s"
  const AxisUnit scale = clock ? AxisUnit{1, "s"} : axis_unit(unit, value);
  const double number = value * scale.factor;
  const double spread = std::abs(*half) * scale.factor;
  // Beyond these, a double does not have the digits.
  if (!(spread > 1e-12 * std::abs(number)) || spread < 1e-100 || spread > 1e100) {
    Shown out = show(value, unit);
    out.half = "0";
    return spread > 1e100 ? show(value, unit) : out;
  }
  int place = leading_place(spread, kHalfDigits) - kHalfDigits + 1;
  if (number != 0) place = std::max(place, leading_place(number, kMaxDigits) - kMaxDigits + 1);
  const std::string after = rounded_to(std::max(spread, std::pow(10.0, place)), place);
  if (clock) return {duration(value), "", *half >= 60 ? duration(*half) : after + " s"};
  return {rounded_to(number, place), scale.unit, after};
}

Shown show(const judge::CaseResult& result, const judge::Summary& summary) {
  const auto spread = spread_of(result, summary);
  return show(summary.median, summary.info.unit,
              spread ? std::optional(spread->half) : std::nullopt);
}

std::string median_text(const judge::CaseResult& result, const judge::Summary& summary) {
  Shown shown = show(result, summary);
  shown.half.clear();
  return shown.text();
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

page::Html case_subtitle(const judge::CaseResult& result) {
  std::vector<std::string> names{result.model, result.framework, result.hardware};
  std::erase(names, "");
  const std::string size =
      counted(result.nodes, "node") + " × " + counted(result.procs, "process", "processes");
  if (names.empty()) return page::Html::text(size);
  return page::as_name(join(names, " · ")) + page::Html::text(" · " + size);
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

std::optional<Spread> spread_of(const judge::Metric& metric) {
  if (!metric.ci95_low || !metric.ci95_high) return std::nullopt;
  const double half = (*metric.ci95_high - *metric.ci95_low) / 2;
  const double ratio = half / std::abs(metric.value);
  return std::isfinite(ratio) ? std::optional(Spread{ratio, half, Spread::Kind::steps})
                              : std::nullopt;
}

std::optional<Spread> spread_of(const judge::CaseResult& result, const judge::Summary& summary) {
  if (summary.mean == 0 || !std::isfinite(summary.mean)) return std::nullopt;
  if (summary.ci95_low && summary.ci95_high) {
    const double half = (*summary.ci95_high - *summary.ci95_low) / 2;
    const double ratio = half / std::abs(summary.mean);
    if (std::isfinite(ratio)) return Spread{ratio, half, Spread::Kind::rounds};
  }
  if (summary.cv && std::isfinite(*summary.cv)) {
    const double ratio = std::abs(*summary.cv);
    return Spread{ratio, ratio * std::abs(summary.mean), Spread::Kind::deviation};
  }
  if (summary.n != 1) return std::nullopt;
  for (const judge::RoundResult& round : result.rounds)
    if (const judge::Metric* metric = find_metric(round, summary.info.name);
        metric != nullptr && round.status == RoundStatus::completed)
      return spread_of(*metric);
  return std::nullopt;
}

std::string spread_legend(const judge::RunResult& result) {
  static constexpr std::array<const char*, 3> kKinds{
      "half of the 95 % confidence interval of the mean", "of two rounds, the standard deviation",
      "of one round, half of the 95 % confidence interval over its steps"};
  std::array<bool, kKinds.size()> used{};
  for (const judge::CaseResult& case_result : result.cases) {
    const judge::Summary* summary = find_summary(case_result, case_result.headline);
    const auto spread = summary == nullptr ? std::nullopt : spread_of(case_result, *summary);
    if (spread) used[static_cast<std::size_t>(spread->kind)] = true;
  }
  std::string text;
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (used[i]) text += (text.empty() ? "±: " : "; ") + std::string(kKinds[i]);
  return text;
}

std::string verdict_words(const judge::CaseResult& result) {
  if (result.skipped) return std::string(kSkippedWord);
  const bool said = result.validity == judge::Validity::valid && result.relaxed();
  return std::string(judge::to_string(result.validity)) + (said ? " under relaxed rules" : "");
}

std::string verdict_words(const judge::RunResult& result) {
  const bool said = result.validity == judge::Validity::valid &&
                    std::ranges::any_of(result.cases, &judge::CaseResult::relaxed);
  return std::string(judge::to_string(result.validity)) + (said ? " under relaxed rules" : "");
}

std::vector<ChangedRule> changed_rules(const judge::CaseResult& result) {
  constexpr std::size_t kFew = 3;
  std::vector<ChangedRule> out;
  if (!result.rule_changes) return out;
  std::vector<std::string> newer;
  std::string origin;
  for (const catalog::RuleDifference& difference : *result.rule_changes)
    if (difference.origin.starts_with(judge::kNotInPlan)) {
      newer.push_back(difference.id());
      origin = difference.origin;
    }
  for (const catalog::RuleDifference& difference : *result.rule_changes)
    if (newer.size() <= kFew || !difference.origin.starts_with(judge::kNotInPlan))
      out.push_back({catalog::difference_text(difference), difference.relaxed(), {}});
  if (newer.size() > kFew)
    out.push_back(
        {fmt::format("{} rules are {}: {}", newer.size(), origin, join(newer, ", ")), true, {}});
  return out;
}

std::vector<ChangedRule> changed_rules(const judge::RunResult& result) {
  std::vector<ChangedRule> out;
  for (const judge::CaseResult& case_result : result.cases)
    for (ChangedRule& changed : changed_rules(case_result)) {
      auto same = std::ranges::find(out, changed.text, &ChangedRule::text);
      if (same == out.end()) same = out.insert(out.end(), std::move(changed));
      same->cases.push_back(case_result.name);
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
