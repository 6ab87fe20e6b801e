#pragma once

#include <cstdint>
#include <string_view>

#include "core/time.h"
#include "perflog/writer.h"

namespace assay::workload {

/// Says on the PerfLog how long the phases of a program take, one after the other: each begins
/// where the one before it ended. One thread; the writer lives longer.
class PhaseLog {
 public:
  explicit PhaseLog(perflog::Writer& log, std::int64_t since_ns = mono_now_ns()) noexcept
      : log_(log), since_ns_(since_ns) {}

  /// The next phase begins now, not at the end of the one before.
  void begin() noexcept { since_ns_ = mono_now_ns(); }
  /// The phase that went on until now was `name`, as docs/perflog.md lists them.
  void end(std::string_view name) {
    const std::int64_t now = mono_now_ns();
    log_.phase(name, seconds(Nanoseconds(now - since_ns_)));
    since_ns_ = now;
  }

 private:
  perflog::Writer& log_;
  std::int64_t since_ns_;
};

}  // namespace assay::workload
