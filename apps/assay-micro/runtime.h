#pragma once

#include <cstdint>

#include "perflog/writer.h"

namespace assay::micro {

/// This process's place among the ranks, from RANK and WORLD_SIZE (0 of 1 when they are not set).
/// Throws Error of kind usage when they make no sense.
struct Place {
  int rank = 0;
  int world_size = 1;
};
[[nodiscard]] Place place_from_environment();

/// Makes SIGTERM and SIGINT request an end instead of killing.
void handle_stop_signals();

/// The signal that asked for an end, or 0.
[[nodiscard]] int stop_signal() noexcept;

/// Sleeps until CLOCK_MONOTONIC reaches `mono_ns`, or a stop is requested.
void sleep_until(std::int64_t mono_ns) noexcept;

/// The exit code of a workload that ran as far as it should: 0, or 128 + signal when it was asked
/// to stop before, or 1 (with a message) when its log could not be written.
[[nodiscard]] int exit_code(const perflog::Writer& writer) noexcept;

}  // namespace assay::micro
