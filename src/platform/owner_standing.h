#pragma once

#include <optional>
#include <string>

#include "accounts/accounts.h"
#include "jobs/pending.h"

namespace assay::platform {

/// Why no job of that owner in that team (empty: none) is to begin now: they have no account, may
/// not run jobs, or are not in the team. Nothing: it may.
[[nodiscard]] std::optional<jobs::PendingKind> barred(accounts::Accounts& accounts,
                                                      const std::string& owner,
                                                      const std::string& team);

}  // namespace assay::platform
