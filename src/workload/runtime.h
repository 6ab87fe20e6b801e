#pragma once

#include <cstdint>

#include "core/error.h"
#include "perflog/writer.h"

namespace assay::workload {

/// Makes SIGTERM and SIGINT request an end instead of killing. A separate thread takes them; they
/// are blocked in the caller and the threads it starts later. Must be called before starting other
/// threads.
void handle_stop_signals();

/// From now on a signal that comes a second or more after the first one ends the process at once,
/// with 128 + signal; one that comes sooner is part of the same request.
void end_at_second_stop_signal() noexcept;

/// Requests an end as `signal` would, for a rank that learns of it from another one. It is not
/// counted as a signal, and does not replace one that came.
void ask_to_stop(int signal) noexcept;

/// The signal that requested an end, or 0.
[[nodiscard]] int stop_signal() noexcept;

/// Sleeps until CLOCK_MONOTONIC reaches `mono_ns` or a stop is requested.
void sleep_until(std::int64_t mono_ns) noexcept;

/// The exit code of a workload that ran as far as it should: 0, 128 + signal if it was asked to
/// stop, or 1 (with a message) if its log could not be written.
[[nodiscard]] int exit_code(const perflog::Writer& writer) noexcept;
/// The exit code for this error; the signal's if a rank that was asked to stop finds the others
/// gone.
[[nodiscard]] int exit_code(const Error& error) noexcept;

/// Prints the error after the program's name; returns the exit code.
int report(const Error& error) noexcept;

/// Calls report() and ends the process at once, for threads that find that it cannot continue.
[[noreturn]] void end_with(const Error& error);

}  // namespace assay::workload
