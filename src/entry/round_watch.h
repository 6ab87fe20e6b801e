#pragma once

#include <string>

#include <sys/types.h>

#include "core/files.h"

namespace assay::entry {

/// Notices the end of a round on this machine: what somebody runs beside it ends with it.
class RoundWatch {
 public:
  RoundWatch(std::string round, pid_t pid);

  /// Readable when the process that is looked at has ended; -1: it cannot be watched.
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
  /// Whether nothing of the round is left. Looks only when a process has ended.
  [[nodiscard]] bool over();

 private:
  std::string round_;
  UniqueFd fd_;
  bool over_ = false;
};

}  // namespace assay::entry
