#include "plan/repeats.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "config/mapping.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/units.h"
#include "plan/case_key.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

// A confidence interval needs at least three values.
constexpr int kMinRounds = 3;
constexpr int kDefaultLimit = 20;
constexpr std::string_view kUntil = "until";
constexpr const char* kForms = "for example 3, 'until 2 %', or {until: 2 %, min: 3, max: 20}";

double read_percent(const Node& node, std::string_view text) {
  text = trim(text);
  const auto value = text.ends_with('%')
                         ? parse_number<double>(trim(text.substr(0, text.size() - 1)), 1e-3, 100.0)
                         : std::nullopt;
  if (!value || !(*value > 0))
    node.fail(
        "expected the width to be reached in percent, from 0.001 to 100 %, got " + node.describe(),
        kForms);
  return *value / 100;
}

}  // namespace

const std::vector<std::string>& repeats_keys() {
  static const std::vector<std::string> keys{"until", "min", "max"};
  return keys;
}

Repeats read_repeats(const Node& node) {
  if (node.is_mapping()) {
    const Mapping map(node, "repeats", repeats_keys());
    Repeats out{kDefaultLimit, RepeatUntil{}};
    out.until->half_width = read_percent(map.at("until"), map.at("until").nonempty_text());
    if (const Node* min = map.find("min"))
      out.until->min = static_cast<int>(min->integer(kMinRounds, kMaxRepeats));
    out.most = std::max(out.most, out.until->min);
    if (const Node* max = map.find("max"))
      out.most = static_cast<int>(max->integer(out.until->min, kMaxRepeats));
    return out;
  }
  if (node.is_scalar() && trim(node.text()).starts_with(kUntil)) {
    const std::string text = node.text();
    return {kDefaultLimit, RepeatUntil{read_percent(node, trim(text).substr(kUntil.size()))}};
  }
  return {static_cast<int>(node.integer(1, kMaxRepeats))};
}

int read_warmup_rounds(const Node& node) {
  return static_cast<int>(node.integer(0, kMaxWarmupRounds));
}

int CasePlan::rounds() const noexcept {
  const int before = std::max(warmup_rounds, 0);
  return repeats > std::numeric_limits<int>::max() - before ? std::numeric_limits<int>::max()
                                                            : repeats + before;
}

std::string CasePlan::round_text(int round) const {
  if (is_warmup(round)) return fmt::format("warm-up round {}/{}", round, warmup_rounds);
  return until ? fmt::format("round {} of at most {}", round, rounds())
               : fmt::format("round {}/{}", round, rounds());
}

std::string repeats_text(const CasePlan& plan) {
  if (!plan.until) return counted(plan.repeats, "round");
  return fmt::format("{} to {} rounds, until the mean is known to ± {} %", plan.until->min,
                     plan.repeats, format_number(100 * plan.until->half_width));
}

std::string rounds_text(const CasePlan& plan) {
  const std::string repeats = repeats_text(plan);
  return plan.warmup_rounds > 0 ? counted(plan.warmup_rounds, "warm-up round") + " and " + repeats
                                : repeats;
}

}  // namespace assay::plan
