#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"

namespace assay::emulator {

/// What happens to a job that really runs.
struct JobFault {
  enum class Kind {
    never_start,  ///< stays pending until it is stopped
    fail,         ///< the processes of one instance are killed
    hang,         ///< all processes are suspended; the job runs on
    preempt,      ///< taken away: Abnormal
    reschedule,   ///< taken away, pending again, started again from its beginning
    kill,         ///< stopped by another user, as from the console
  };
  Kind kind = Kind::fail;
  std::string job;      ///< a part of its name; empty: any
  Nanoseconds after{};  ///< the time it has run by then
  int task = 0;         ///< the instance that fails
  int count = 1;        ///< jobs that meet it
};

/// Throws Error of kind config for JSON that is not a fault.
[[nodiscard]] JobFault job_fault_from_json(const Json& json);

/// Thread-safe.
class JobFaults {
 public:
  void add(JobFault fault);
  void clear();
  /// The fault that a job which is started now meets, if any; uses it up.
  [[nodiscard]] std::optional<JobFault> take(const std::string& name);

 private:
  std::mutex mutex_;
  std::vector<JobFault> faults_;
};

}  // namespace assay::emulator
