#pragma once

#include <string>

#include <sys/types.h>

#include "core/files.h"

namespace assay::entry {

/// Notices the end of a round on this machine, with which anything run beside it ends.
class RoundWatch {
 public:
  RoundWatch(std::string round, pid_t pid);

  /// Readable once the watched process has ended; -1 if it cannot be watched.
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
  /// Whether nothing is left of the round. Looks only after a process has ended.
  [[nodiscard]] bool over();

 private:
  std::string round_;
  UniqueFd fd_;
  bool over_ = false;
};

}  // namespace assay::entry
