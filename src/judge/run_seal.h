#pragma once

#include <string_view>
#include <vector>

#include "judge/result.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Findings of check_seal() that say of a run only that nothing can be shown.
inline constexpr std::string_view kUnsealedRule = "run-sealed";  ///< it ended, and has no seal
inline constexpr std::string_view kUnsignedRule = "seal-signed";

/// Checks seal.json against the files of the run directory, and adds what is wrong to `findings`.
/// `ended`: the run has come to its end, so that its seal must be there (a run that goes on again
/// has none). Who signed is said, and whether one should
/// trust the key is not asked here: the result depends on the evidence alone.
[[nodiscard]] RunSeal check_seal(const store::RunDir& run, bool ended,
                                 std::vector<Finding>& findings);

}  // namespace assay::judge
