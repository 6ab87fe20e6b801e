#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace assay::telemetry {

/// Absolute path of a sampler, found like execvp does; "assay-…" beside this program first. A path
/// of an "assay-…" or in program_folder() that is missing is looked for by its name alone.
[[nodiscard]] std::optional<std::string> resolve_program(const std::string& name);

/// The command with {bindir} (program_folder()), {interval_ms} and {interval_s} filled in; the
/// latter is whole seconds, at least one, because that is what vendors' tools take. Throws Error of
/// kind config at `where` for other names in braces.
[[nodiscard]] std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                                      Nanoseconds interval,
                                                      const std::string& where);

}  // namespace assay::telemetry
