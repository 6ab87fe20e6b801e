#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <asio/awaitable.hpp>

#include "core/async_process.h"

namespace assay {

/// Runs a command as AsyncProcess does. An exception from `on_output` ends it and is rethrown; so
/// does the end of the coroutine. Throws like spawn() and never sets `not_found`.
[[nodiscard]] asio::awaitable<CommandResult> run_async(
    SpawnOptions options, RunLimits limits, std::string input = {},
    std::function<void(std::string_view)> on_output = {}, bool kill_rest = true);

}  // namespace assay
