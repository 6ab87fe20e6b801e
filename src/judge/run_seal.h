#pragma once

#include <string_view>
#include <vector>

#include "judge/result.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Findings of check_seal() that only say that nothing can be shown about a run.
inline constexpr std::string_view kUnsealedRule = "run-sealed";  ///< it ended without a seal
inline constexpr std::string_view kUnsignedRule = "seal-signed";

/// Checks seal.json against the files of the run directory and adds flaws to `findings`. `ended`:
/// the run is over, so its seal must exist (a resumed run has none). Reports the signer but does
/// not judge whether the key is trusted: the result depends on the evidence alone.
[[nodiscard]] RunSeal check_seal(const store::RunDir& run, bool ended,
                                 std::vector<Finding>& findings);

}  // namespace assay::judge
