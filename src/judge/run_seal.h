#pragma once

#include <string_view>
#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Findings of check_seal() that only say that nothing can be shown about a run.
inline constexpr std::string_view kUnsealedRule = "run-sealed";  ///< it ended without a seal
inline constexpr std::string_view kUnsignedRule = "seal-signed";

/// Checks seal.json against the files of the run directory and adds flaws to `findings`. If the
/// journal says that the run is over, its seal must exist (a resumed run has none), and it must be
/// signed unless the journal says why it could not be. Reports the signer but does not judge
/// whether the key is trusted: the result depends on the evidence alone.
[[nodiscard]] RunSeal check_seal(const store::RunDir& run, const std::vector<Json>& journal,
                                 std::vector<Finding>& findings);

}  // namespace assay::judge
