#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/node.h"
#include "plan/plan.h"

namespace assay::plan {

inline constexpr int kMaxWarmupRounds = 100;

/// How often a case is repeated.
struct Repeats {
  int most = 1;  ///< rounds; with `until`, their maximum
  std::optional<RepeatUntil> until{};
};

/// `3`, `until 2 %`, or `{until: 2 %, min: 3, max: 20}`. Throws Error of kind config at the node.
[[nodiscard]] Repeats read_repeats(const config::Node& node);
[[nodiscard]] int read_warmup_rounds(const config::Node& node);

/// The keys allowed in the mapping.
[[nodiscard]] const std::vector<std::string>& repeats_keys();

/// "3 rounds", "3 to 20 rounds, until the mean is known to ± 2 %".
[[nodiscard]] std::string repeats_text(const CasePlan& plan);
/// The same with warm-up rounds: "1 warm-up round and 3 rounds".
[[nodiscard]] std::string rounds_text(const CasePlan& plan);

}  // namespace assay::plan
