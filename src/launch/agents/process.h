#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/subprocess.h"
#include "core/time.h"

namespace assay::launch {

struct ProcessResult {
  ExitStatus status;
  bool timed_out = false;
  std::string errors;  ///< the end of what it wrote to stderr, printable
  [[nodiscard]] bool ok() const noexcept { return !timed_out && status.ok(); }
};

/// Runs a command on the loop: `input` goes to its stdin, every piece of its stdout to `output`. It
/// is killed when `silence` passes without a byte, or when `output` throws (which is rethrown).
/// Throws Error of kind launch when it cannot be started.
[[nodiscard]] asio::awaitable<ProcessResult> run_process(
    std::vector<std::string> argv, std::string label, std::string input,
    std::function<void(std::string_view)> output, Nanoseconds silence);

}  // namespace assay::launch
