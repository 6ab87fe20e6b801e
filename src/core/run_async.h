#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <asio/awaitable.hpp>

#include "core/async_process.h"

namespace assay {

/// Runs a command as AsyncProcess does. What `on_output` throws ends the process and is rethrown;
/// so does the end of the coroutine. The result has no `not_found`: throws like spawn().
[[nodiscard]] asio::awaitable<CommandResult> run_async(
    SpawnOptions options, RunLimits limits, std::string input = {},
    std::function<void(std::string_view)> on_output = {}, bool kill_rest = true);

}  // namespace assay
