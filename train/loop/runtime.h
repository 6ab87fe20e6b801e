#pragma once

#include "core/error.h"
#include "perflog/writer.h"

namespace assay::train {

/// Makes SIGTERM and SIGINT request an end instead of killing.
void handle_stop_signals();

/// The signal that asked for an end, or 0.
[[nodiscard]] int stop_signal() noexcept;

/// The exit code of a workload that ran as far as it should: 0, or 128 + signal when it was asked
/// to stop before, or 1 (with a message) when its log could not be written.
[[nodiscard]] int exit_code(const perflog::Writer& writer) noexcept;
/// Of a program that ends with this error: that of the signal when a rank that was told to stop
/// finds the others gone.
[[nodiscard]] int exit_code(const Error& error) noexcept;

/// Prints the error and ends the process at once with its exit code: for threads that find that
/// the process cannot go on.
[[noreturn]] void end_with(const Error& error);

}  // namespace assay::train
