#pragma once

#include <string>
#include <vector>

#include "store/run_dir.h"

namespace assay::judge {

/// The evidence of a run that is to be resumed: sealing it again vouches for all of it.
struct ResumeCheck {
  /// Changes to the seal, to what it covers, or to listed files of rounds with a result. Such a run
  /// must not be resumed.
  std::vector<std::string> faults{};
  /// Facts that can never be shown, because the run ended without a seal or with an unsigned one;
  /// later seals do not change that.
  std::vector<std::string> unproven{};
};

/// Compares a run that is not in progress with its seal and its lists. A run that was killed has no
/// seal yet, but its rounds have lists. Rounds without a result are run again and ignored here.
/// Throws Error when the journal cannot be read at all.
[[nodiscard]] ResumeCheck check_before_resume(const store::RunDir& run);

}  // namespace assay::judge
