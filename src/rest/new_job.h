#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rest/call.h"

namespace assay::rest {

/// The team that a job of the caller counts for: the one that is asked for, or the first of one's
/// own. Throws Refusal 403.
[[nodiscard]] std::string team_for(const Call& call, std::string wanted);

/// Throws Refusal 403 where the caller may not give it.
void check_priority(const Call& call, const std::optional<int>& priority, jobs::Whose of);

/// Where there are teams, everybody's jobs count for one, or quotas would bind only who is in one.
void check_team(const Call& call, const std::string& team, std::vector<jobs::Problem>& problems);

[[nodiscard]] serve::Refusal with_problems(const std::vector<jobs::Problem>& problems);

/// What a client sent as a job of the caller. With problems, it is not to be used.
[[nodiscard]] jobs::NewJob new_job(const Call& call, Json body,
                                   std::vector<jobs::Problem>& problems);
/// The same; problems are a Refusal 422.
[[nodiscard]] jobs::NewJob complete_job(const Call& call, const Json& body);

}  // namespace assay::rest
