#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "platform/schedules.h"
#include "rest/call.h"
#include "rest/change_guard.h"
#include "rest/job_json.h"
#include "rest/new_job.h"

namespace assay::rest {

using jobs::Deed;

namespace {

// As the caller sees it: its etag, too, is theirs.
Json changeable_schedule(const Call& call, const platform::Schedule& one) {
  return {{"team", one.team},
          {"cron", one.cron},
          {"paused", one.paused},
          {"submission", fields_to_json(shown_to(call, one.owner, one.submission))},
          {"code", one.code}};
}

Json schedule_json(const Call& call, const platform::Schedule& one) {
  Json out = {{"name", one.name}, {"owner", one.owner}};
  const Json changeable = changeable_schedule(call, one);
  out.update(changeable);
  out["next"] = time_json(platform::next_time(one, call.now_ns).value_or(0));
  out["last"] = time_json(one.last_ns);
  out["last_job"] = one.last_job == 0 ? Json() : Json(one.last_job);
  out["last_error"] = one.last_error;
  out["etag"] = etag_of(changeable);
  return out;
}

// The one of the address; nothing: there is none.
std::optional<platform::Schedule> schedule_of(Call& call, const std::string& owner) {
  for (platform::Schedule& one : call.context.schedules.of(owner))
    if (one.name == call.parameter(0)) return std::move(one);
  return std::nullopt;
}

// Null: there is none.
Json schedule_there(Call& call, const std::string& owner) {
  const auto one = schedule_of(call, owner);
  return one ? changeable_schedule(call, *one) : Json();
}

// Administrators see everybody's, others their own.
bool sees_all(const Call& call) {
  return call.caller().may(Deed::stop_job, jobs::Whose::foreign);
}

serve::HttpResponse schedules(Call& call) {
  Json out = Json::array();
  for (const platform::Schedule& one :
       call.context.schedules.of(sees_all(call) ? std::string() : call.caller().name))
    out.push_back(schedule_json(call, one));
  return json_answer({{"schedules", out}});
}

serve::HttpResponse put_schedule(Call& call) {
  accounts::check_name(call.parameter(0), "schedule");
  check_same_name(call);
  for (const auto& [key, value] : call.body.items())
    if (key != "paused" && key != "cron" && key != "job" && key != "name")
      throw serve::Refusal(400, "bad_field",
                           "there is no field '" + ellipsize(printable(key), 64) + "'");
  std::optional<jobs::NewJob> job;
  if (const auto given = call.body.find("job"); given != call.body.end()) {
    if (!given->is_object()) throw serve::Refusal(400, "bad_field", "'job' must be a submission");
    job = complete_job(call, *given);
    if (const auto preview = call.context.platform.preview(*job); !preview.problems.empty())
      throw with_problems(preview.problems);
  }
  const std::string& owner = call.caller().name;
  {
    const std::scoped_lock lock(call.context.settings);
    check_unchanged(call, schedule_there(call, owner));
    auto made = schedule_of(call, owner);
    if (!made && (!job || !call.body.contains("cron")))
      throw serve::Refusal(400, "bad_field", "'cron' and 'job' must be there",
                           "such as {\"cron\": \"0 3 * * mon-fri\", \"job\": {…}}");
    if (!made) made = platform::Schedule{.name = call.parameter(0), .owner = owner};
    if (call.body.contains("cron")) made->cron = serve::text_field(call.body, "cron", 200);
    if (const auto paused = call.body.find("paused"); paused != call.body.end())
      json_fields_detail::decode(*paused, made->paused, "paused");
    if (job) {
      made->team = job->team;
      made->submission = job->submission;
      made->code = job->code;
    }
    made->again_ns = 0;
    call.context.schedules.put(*made, call.now_ns);
  }
  // As it is kept: what happened last, and when it is next, counts from now.
  const auto kept = schedule_of(call, owner);
  if (!kept) throw not_found("there is no such schedule");
  return json_answer(schedule_json(call, *kept));
}

serve::HttpResponse delete_schedule(Call& call) {
  const std::string asked = call.asked("owner");
  const std::string owner = asked.empty() ? call.caller().name : asked;
  if (owner != call.caller().name && !sees_all(call)) throw not_found("there is no such schedule");
  const std::scoped_lock lock(call.context.settings);
  const Json now = schedule_there(call, owner);
  if (now.is_null()) throw not_found("there is no such schedule");
  check_unchanged(call, now);
  (void)call.context.schedules.remove(owner, call.parameter(0));
  return json_answer(Json::object());
}

}  // namespace

std::vector<Route> schedule_routes() {
  return {{.method = "GET",
           .path = "/api/v1/schedules",
           .handler = schedules,
           .deed = Deed::submit_job,
           .of = Of::self,
           .summary = "Jobs that are submitted again and again: one's own, for administrators all",
           .answer = "Schedules"},
          {.method = "PUT",
           .path = "/api/v1/schedules/{name}",
           .handler = put_schedule,
           .deed = Deed::submit_job,
           .of = Of::self,
           .summary = "Make or change a schedule; its jobs are the caller's",
           .answer = "Schedule",
           .request = "NewSchedule",
           .body = Body::json,
           .max_body = 2U << 20,
           .guarded = true},
          {.method = "DELETE",
           .path = "/api/v1/schedules/{name}",
           .handler = delete_schedule,
           .deed = Deed::submit_job,
           .of = Of::self,
           .summary = "Delete a schedule; its jobs stay",
           .answer = "Empty",
           .query = {{"owner", "string", "of somebody else, for administrators"}},
           .guarded = true}};
}

}  // namespace assay::rest
