#pragma once

#include <string>
#include <vector>

#include "store/run_dir.h"

namespace assay::judge {

/// What a run that is to go on is worth: whoever seals it anew vouches for what is there already.
struct ResumeCheck {
  /// What was changed: the seal, what it covers, or listed files of rounds that have a result. Such
  /// a run must not go on.
  std::vector<std::string> faults{};
  /// What nothing can show, because the run ended without a seal, or with one that nobody signed.
  /// It stays so, whatever seals come later.
  std::vector<std::string> unproven{};
};

/// Compares a run that does not go on now with its seal and its lists. A run that was killed has no
/// seal yet; its rounds have lists. Rounds without a result are run again and not looked at. Throws
/// Error when the journal cannot be read at all.
[[nodiscard]] ResumeCheck check_before_resume(const store::RunDir& run);

}  // namespace assay::judge
