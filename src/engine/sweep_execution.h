#pragma once

#include <stop_token>

#include "core/time.h"
#include "engine/execution_folder.h"

namespace assay::engine {

/// Ends what an execution has left when its controller is gone: agents that end their ranks
/// themselves have `patience` for it; then everything on this machine that carries the execution's
/// mark is killed, and, where the controller was killed, the processes, control groups and
/// containers of its unfinished rounds on all of its nodes. Returns when nothing is left here;
/// false: some of it cannot be killed, this machine cannot look, or `stop` was asked for. `bindir`
/// holds assay. Never throws.
[[nodiscard]] bool sweep_execution(const ExecutionFolder& folder,
                                   const std::filesystem::path& bindir, Nanoseconds patience,
                                   const std::stop_token& stop);

}  // namespace assay::engine
