#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "rest/call.h"
#include "rest/change_guard.h"
#include "rest/job_json.h"
#include "rest/new_job.h"
#include "rest/shown_submission.h"

namespace assay::rest {

using jobs::Deed;
using jobs::EventKind;
using jobs::Whose;

namespace {

constexpr std::size_t kMaxSubmission = 1U << 20;

// What was submitted.
Json rows_of(Call& call, const std::vector<jobs::JobId>& ids) {
  // An array's numbers follow each other.
  call.did = ids.size() == 1 ? fmt::format("job {}", ids.front())
                             : fmt::format("jobs {}-{}", ids.front(), ids.back());
  Json rows = Json::array();
  for (const jobs::JobId id : ids)
    if (const auto view = call.context.platform.find(id)) rows.push_back(row_json(call, *view));
  return {{"jobs", rows}};
}

serve::HttpResponse submit(Call& call) {
  std::vector<jobs::Problem> problems;
  const jobs::NewJob job = new_job(call, call.body, problems);
  if (!problems.empty()) throw with_problems(problems);
  return json_answer(rows_of(call, call.context.platform.submit(job)), 201);
}

serve::HttpResponse preview(Call& call) {
  std::vector<jobs::Problem> problems;
  const jobs::NewJob job = new_job(call, call.body, problems);
  platform::Preview seen;
  if (problems.empty())
    seen = call.context.platform.preview(job);
  else
    seen.problems = problems;
  return json_answer({{"problems", json_fields_detail::encode(seen.problems)},
                      {"suite", seen.suite},
                      {"plan", seen.plan},
                      {"elements", seen.elements},
                      {"at_once", seen.at_once},
                      {"placement", json_fields_detail::encode(seen.placement)},
                      {"time_s", seen.time ? Json(seconds(*seen.time)) : Json()},
                      {"place", seen.place == 0 ? Json() : Json(seen.place)},
                      {"estimated_start", time_json(seen.estimated_start_ns.value_or(0))},
                      {"pending", pending_json(seen.pending)}});
}

serve::HttpResponse list(Call& call) {
  jobs::JobFilter filter;
  const std::string states = call.asked("state");
  for (const std::string_view word : split(states, ',')) {
    if (word.empty()) continue;
    const auto state = parse_enum<jobs::State>(word);
    if (!state)
      throw serve::Refusal(400, "bad_parameter", "there is no such state",
                           "one of: " + enum_choices<jobs::State>());
    filter.states.push_back(*state);
  }
  filter.owner = call.asked("owner");
  filter.team = call.asked("team");
  filter.queue = call.asked("queue");
  filter.search = call.asked("search");
  filter.array = call.asked_number("array", 0, 0, std::int64_t{1} << 53);
  const std::string arrays = call.asked("arrays");
  filter.arrays_as_one = arrays == "1" || arrays == "true";
  if (const std::string order = call.asked("order"); !order.empty()) {
    const auto known = parse_enum<jobs::JobOrder>(order);
    if (!known)
      throw serve::Refusal(400, "bad_parameter", "there is no such order",
                           "one of: " + enum_choices<jobs::JobOrder>());
    filter.order = *known;
  }
  const std::string descending = call.asked("descending");
  filter.descending = descending != "0" && descending != "false";
  filter.now_ns = call.now_ns;
  filter.offset = call.asked_number("offset", 0, 0, 1'000'000'000);
  filter.limit = call.asked_number("limit", 50, 1, jobs::kMaxPage);
  const jobs::JobPage page = call.context.platform.list(filter);
  Json rows = Json::array();
  for (const jobs::JobRow& row : page.rows) rows.push_back(row_json(call, row));
  return json_answer({{"jobs", rows}, {"total", page.total}});
}

serve::HttpResponse show(Call& call) {
  return json_answer(job_json(call, *call.job));
}

serve::HttpResponse timeline(Call& call) {
  Json events = Json::array();
  for (const jobs::TimelineEntry& entry : call.context.platform.timeline(call.job_id()))
    events.push_back({{"at", time_json(entry.at_ns)},
                      {"event", to_text(entry.event)},
                      {"from", to_text(entry.from)},
                      {"to", to_text(entry.to)},
                      {"attempt", entry.attempt},
                      {"who", entry.who},
                      {"words", entry.words}});
  return json_answer({{"events", events}});
}

serve::HttpResponse suite(Call& call) {
  serve::HttpResponse response;
  response.type = "text/plain; charset=utf-8";
  const jobs::Job& job = call.job->job;
  response.body = call.context.platform.suite_of(shown_to(call, job.owner, job.submission));
  return response;
}

// What does not fit the state is 409.
template <class F>
void if_it_fits(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw serve::Refusal(409, "does_not_fit", error.message(), error.advice());
  }
}

template <EventKind kind>
serve::HttpResponse ask(Call& call) {
  if_it_fits([&] { (void)call.context.platform.ask(call.job_id(), kind, call.caller().name); });
  const auto view = call.context.platform.find(call.job_id());
  if (!view) throw not_found("there is no such job");
  return json_answer(job_json(call, *view));
}

serve::HttpResponse rerun(Call& call) {
  const jobs::Job& job = call.job->job;
  jobs::NewJob again;
  again.owner = call.caller().name;
  again.team = team_for(call, call.caller().is_in(job.team) ? job.team : std::string());
  again.submission = job.submission;
  if (again.owner != job.owner)
    if (const auto secrets = secrets_of(job.submission); !secrets.empty())
      throw serve::Refusal(409, "has_secrets",
                           fmt::format("the job has values that only {} knows: {}",
                                       printable(job.owner), printable(join(secrets, ", "))),
                           "submit it as your own, with your own values in their place");
  if (job.array_index) again.submission.array = std::to_string(*job.array_index);
  if (!job.code.empty() && !call.context.code.has(again.owner, job.code)) {
    if (again.owner != job.owner)
      throw serve::Refusal(
          409, "no_code",
          fmt::format("the files of the job were uploaded by {}, who alone can run "
                      "it again with them",
                      printable(job.owner)),
          "upload them yourself: submit it from their folder");
    throw serve::Refusal(409, "no_code", "what the job was submitted with is not here any more",
                         "submit it again from its folder");
  }
  again.code = job.code;
  std::vector<jobs::Problem> problems;
  check_team(call, again.team, problems);
  if (!problems.empty()) throw with_problems(problems);
  check_priority(call, again.submission.priority, Whose::own);
  return json_answer(rows_of(call, call.context.platform.submit(again)), 201);
}

void require(const Call& call, Deed deed, Whose of, const char* words) {
  if (!call.caller().may(deed, of)) throw forbidden(words);
}

serve::HttpResponse change(Call& call) {
  const jobs::Job& job = call.job->job;
  const Whose of = whose(call, job);
  for (const auto& [key, value] : call.body.items())
    if (key != "priority" && key != "name" && key != "shared_with")
      throw serve::Refusal(400, "bad_field",
                           "there is no field '" + ellipsize(printable(key), 64) + "'",
                           "one of: priority, name, shared_with");
  // All is checked before anything is changed.
  std::optional<int> priority;
  if (const auto found = call.body.find("priority"); found != call.body.end()) {
    require(call, Deed::change_job, of, "change this job");
    if (!found->is_number_integer() || *found < 0 || *found > jobs::kMaxPriority)
      throw serve::Refusal(
          400, "bad_field",
          fmt::format("'priority' must be a number from 0 to {}", jobs::kMaxPriority));
    priority = found->get<int>();
    check_priority(call, priority, of);
  }
  const std::string name = serve::text_field(call.body, "name", 1000);
  const bool renames = call.body.contains("name");
  if (renames) {
    require(call, Deed::change_job, of, "change this job");
    jobs::Submission renamed = job.submission;
    renamed.name = name;
    std::vector<jobs::Problem> problems = jobs::problems_of(renamed);
    std::erase_if(problems, [](const jobs::Problem& one) { return one.path != "name"; });
    if (!problems.empty()) throw with_problems(problems);
  }
  std::optional<std::vector<std::string>> shared;
  if (const auto found = call.body.find("shared_with"); found != call.body.end()) {
    require(call, Deed::share_job, of, "share this job");
    shared.emplace();
    json_fields_detail::decode(*found, *shared, "shared_with");
    if (shared->size() > 1000)
      throw serve::Refusal(400, "bad_field", "'shared_with' has more than 1000 names");
  }
  const std::scoped_lock lock(call.context.settings);
  const auto now = call.context.platform.find(job.id);
  check_unchanged(call, now ? changeable_job(call, now->job) : Json());
  if (priority) if_it_fits([&] { call.context.platform.change_priority(job.id, *priority); });
  if (renames) if_it_fits([&] { call.context.platform.rename(job.id, name); });
  if (shared) {
    call.context.accounts.share(job.id, *shared);
    call.context.streams.ask_now();
  }
  const auto view = call.context.platform.find(job.id);
  if (!view) throw not_found("there is no such job");
  return json_answer(job_json(call, *view));
}

serve::HttpResponse remove(Call& call) {
  if_it_fits([&] { call.context.platform.remove(call.job_id()); });
  call.context.accounts.share(call.job_id(), {});
  return json_answer(Json::object());
}

Route about_job(const char* method, const char* path, serve::HttpResponse (*handler)(Call&),
                Deed deed, const char* summary, const char* answer) {
  return {.method = method,
          .path = path,
          .handler = handler,
          .deed = deed,
          .of = Of::job,
          .summary = summary,
          .answer = answer};
}

}  // namespace

std::vector<Route> job_routes() {
  std::vector<Route> out{
      {.method = "POST",
       .path = "/api/v1/jobs",
       .handler = submit,
       .deed = Deed::submit_job,
       .of = Of::self,
       .summary = "Submit a job",
       .answer = "Submitted",
       .request = "NewJob",
       .body = Body::json,
       .max_body = kMaxSubmission,
       .status = 201},
      {.method = "POST",
       .path = "/api/v1/jobs/preview",
       .handler = preview,
       .deed = Deed::submit_job,
       .of = Of::self,
       .summary = "What would happen to a submission",
       .answer = "Preview",
       .request = "NewJob",
       .body = Body::json,
       .max_body = kMaxSubmission,
       .asks = true},
      {.method = "GET",
       .path = "/api/v1/jobs",
       .handler = list,
       .deed = Deed::list_jobs,
       .summary = "Jobs, filtered, sorted and paged",
       .answer = "JobPage",
       .query = {{"state", "string", "states, separated by commas"},
                 {"owner", "string", "of this user"},
                 {"team", "string", "of this team"},
                 {"queue", "string", "of this queue"},
                 {"search", "string", "in the name, or a job's number"},
                 {"array", "integer", "elements of the array that began with this job"},
                 {"arrays", "boolean",
                  "an array is one row, with 'elements' about all of them; no by default"},
                 {"order", "string", "submitted, started, ended, ran, name, owner, priority, …"},
                 {"descending", "boolean", "the latest or largest first; yes by default"},
                 {"offset", "integer", "rows to leave out"},
                 {"limit", "integer", "rows at most; 50 by default, 1000 at most"}}},
  };
  out.push_back(about_job("GET", "/api/v1/jobs/{id}", show, Deed::read_job, "A job", "Job"));
  out.push_back(about_job("GET", "/api/v1/jobs/{id}/timeline", timeline, Deed::read_job,
                          "What happened to a job", "Timeline"));
  out.push_back(about_job("GET", "/api/v1/jobs/{id}/suite", suite, Deed::read_job,
                          "The suite that a job runs, YAML", "text/plain"));
  out.push_back(about_job("POST", "/api/v1/jobs/{id}/approve", ask<EventKind::approved>,
                          Deed::approve_job, "Approve a job", "Job"));
  out.push_back(about_job("POST", "/api/v1/jobs/{id}/reject", ask<EventKind::rejected>,
                          Deed::approve_job, "Reject a job", "Job"));
  out.push_back(about_job("POST", "/api/v1/jobs/{id}/pause", ask<EventKind::pause_asked>,
                          Deed::stop_job, "Pause a job", "Job"));
  out.push_back(about_job("POST", "/api/v1/jobs/{id}/resume", ask<EventKind::resume_asked>,
                          Deed::stop_job, "Resume a paused job", "Job"));
  out.push_back(about_job("POST", "/api/v1/jobs/{id}/kill", ask<EventKind::kill_asked>,
                          Deed::stop_job, "Stop a job for good", "Job"));
  out.push_back({.method = "POST",
                 .path = "/api/v1/jobs/{id}/rerun",
                 .handler = rerun,
                 .deed = Deed::submit_job,
                 .of = Of::job,
                 .summary = "Submit the same again",
                 .answer = "Submitted",
                 .status = 201});
  out.push_back({.method = "PATCH",
                 .path = "/api/v1/jobs/{id}",
                 .handler = change,
                 .deed = Deed::change_job,
                 .of = Of::job,
                 .summary = "Change a job's priority, its name, or with whom it is shared",
                 .answer = "Job",
                 .request = "JobChange",
                 .body = Body::json,
                 .guarded = true});
  out.push_back(about_job("DELETE", "/api/v1/jobs/{id}", remove, Deed::delete_job,
                          "Delete a job that has ended, with its runs", "Empty"));
  return out;
}

}  // namespace assay::rest
