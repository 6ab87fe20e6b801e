#include "rest/new_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/json_fields.h"
#include "core/text.h"
#include "rest/shown_submission.h"

namespace assay::rest {

using jobs::Deed;
using jobs::Whose;

std::string team_for(const Call& call, std::string wanted) {
  const Caller& caller = call.caller();
  if (wanted.empty() && !caller.teams.empty()) wanted = caller.teams.front();
  const Whose of = wanted.empty()         ? Whose::own
                   : caller.is_in(wanted) ? Whose::team
                                          : Whose::foreign;
  if (!caller.may(Deed::submit_job, of))
    throw serve::Refusal(403, "may_not",
                         fmt::format("you are not in the team '{}'", ellipsize(wanted, 64)));
  return wanted;
}

void check_priority(const Call& call, const std::optional<int>& priority, Whose of) {
  if (priority.value_or(jobs::kDefaultPriority) > jobs::kDefaultPriority &&
      !call.caller().may(Deed::raise_priority, of))
    throw serve::Refusal(
        403, "may_not",
        fmt::format("only an administrator gives a priority above {}", jobs::kDefaultPriority));
}

serve::Refusal with_problems(const std::vector<jobs::Problem>& problems) {
  serve::Refusal refusal(422, "problems",
                         "the submission has " + counted(problems.size(), "problem"));
  for (const jobs::Problem& problem : problems) refusal.problems.push_back(fields_to_json(problem));
  return refusal;
}

void check_team(const Call& call, const std::string& team, std::vector<jobs::Problem>& problems) {
  const std::vector<jobs::Team> teams = call.context.platform.settings().teams;
  if (team.empty()) {
    if (!teams.empty() && call.caller().role != jobs::Role::admin)
      problems.push_back({"team", "you are in no team; an administrator can add you to one"});
  } else if (std::ranges::find(teams, team, &jobs::Team::name) == teams.end() &&
             (!teams.empty() || !call.caller().is_in(team))) {
    problems.push_back({"team", fmt::format("there is no team '{}'", ellipsize(team, 64))});
  }
}

jobs::NewJob new_job(const Call& call, Json body, std::vector<jobs::Problem>& problems) {
  jobs::NewJob out;
  out.owner = call.caller().name;
  out.team = team_for(call, serve::text_field(body, "team", 64));
  out.request_key = serve::text_field(body, "request_key", 128);
  out.code = serve::text_field(body, "code", 128);
  for (const char* key : {"team", "request_key", "code"}) body.erase(key);
  jobs::ReadSubmission read = jobs::read_submission(body);
  problems = std::move(read.problems);
  out.submission = std::move(read.submission);
  if (problems.empty()) problems = hidden_values(out.submission);
  if (!out.code.empty() && !call.context.code.has(out.owner, out.code))
    problems.push_back({"code", "there is no such upload of yours, or it is not complete"});
  check_team(call, out.team, problems);
  if (problems.empty()) check_priority(call, out.submission.priority, Whose::own);
  return out;
}

jobs::NewJob complete_job(const Call& call, const Json& body) {
  std::vector<jobs::Problem> problems;
  jobs::NewJob job = new_job(call, body, problems);
  if (!problems.empty()) throw with_problems(problems);
  return job;
}

}  // namespace assay::rest
