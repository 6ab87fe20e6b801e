#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"

namespace assay::emulator {

/// A fault for a job that really runs.
struct JobFault {
  enum class Kind {
    never_start,  ///< stays pending until stopped
    fail,         ///< kills the processes of one instance
    hang,         ///< suspends all processes; the job continues
    preempt,      ///< taken away: Abnormal
    reschedule,   ///< taken away, pending again, restarted from the beginning
    kill,         ///< stopped by another user, as if from the console
  };
  Kind kind = Kind::fail;
  std::string job;      ///< part of its name; empty: any
  Nanoseconds after{};  ///< running time before the fault
  int task = 0;         ///< the failing instance
  int count = 1;        ///< number of jobs affected
};

/// Throws Error of kind config for JSON that is not a fault.
[[nodiscard]] JobFault job_fault_from_json(const Json& json);

/// Thread-safe.
class JobFaults {
 public:
  void add(JobFault fault);
  void clear();
  /// The fault for a job being started, if any; uses it up.
  [[nodiscard]] std::optional<JobFault> take(const std::string& name);

 private:
  std::mutex mutex_;
  std::vector<JobFault> faults_;
};

}  // namespace assay::emulator
