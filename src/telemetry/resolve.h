#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace assay::telemetry {

/// The absolute path of a sampler, found as execvp does; "assay-…" first beside this program. If a
/// path of an "assay-…" or in program_folder() is missing, its name alone is looked for.
[[nodiscard]] std::optional<std::string> resolve_program(const std::string& name);

/// The command with {bindir} (program_folder()), {interval_ms} and {interval_s} filled in; the
/// latter is in whole seconds, at least one, as vendors' tools require. Throws Error of kind config
/// at `where` for other names in braces.
[[nodiscard]] std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                                      Nanoseconds interval,
                                                      const std::string& where);

}  // namespace assay::telemetry
