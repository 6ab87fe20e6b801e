#pragma once

#include <cstdint>
#include <string_view>

#include "core/time.h"
#include "perflog/writer.h"

namespace assay::workload {

/// Logs how long the consecutive phases of a program take, each beginning where the previous one
/// ended. Single-threaded; the writer must outlive this.
class PhaseLog {
 public:
  explicit PhaseLog(perflog::Writer& log, std::int64_t since_ns = mono_now_ns()) noexcept
      : log_(log), since_ns_(since_ns) {}

  /// Starts the next phase now rather than at the end of the previous one.
  void begin() noexcept { since_ns_ = mono_now_ns(); }
  /// Ends the phase `name`, one of those listed in docs/perflog.md.
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
