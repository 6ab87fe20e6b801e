#include "platform/owner_standing.h"

#include <algorithm>

#include "jobs/permissions.h"

namespace assay::platform {

std::optional<jobs::PendingKind> barred(accounts::Accounts& accounts, const std::string& owner,
                                        const std::string& team) {
  const auto person = accounts.find(owner);
  if (!person) return jobs::PendingKind::owner_removed;
  if (person->disabled) return jobs::PendingKind::owner_disabled;
  if (!jobs::may(person->role, jobs::Deed::submit_job, jobs::Whose::own))
    return jobs::PendingKind::owner_is_viewer;
  if (!team.empty() && std::ranges::find(person->teams, team) == person->teams.end() &&
      !jobs::may(person->role, jobs::Deed::submit_job, jobs::Whose::foreign))
    return jobs::PendingKind::owner_left_team;
  return std::nullopt;
}

}  // namespace assay::platform
