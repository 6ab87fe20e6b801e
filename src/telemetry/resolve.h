#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace assay::telemetry {

/// Absolute path of a sampler: beside this program first (assay-nvml is delivered with the agent),
/// then as execvp finds it.
[[nodiscard]] std::optional<std::string> resolve_program(const std::string& name);

/// The command with {interval_ms} and {interval_s} filled in; the latter is whole seconds, at least
/// one, because that is what vendors' tools take. Throws Error of kind config at `where` for other
/// names in braces.
[[nodiscard]] std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                                      Nanoseconds interval,
                                                      const std::string& where);

}  // namespace assay::telemetry
