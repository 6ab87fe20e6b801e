#include "rest/job_json.h"

#include <map>

#include "core/json_fields.h"
#include "rest/change_guard.h"
#include "rest/shown_submission.h"

namespace assay::rest {

namespace {

bool waits(jobs::State state) {
  return !jobs::is_final(state) && state != jobs::State::running;
}

double ran_s(jobs::State state, jobs::WallTime started_ns, std::int64_t ran_ns,
             jobs::WallTime now_ns) {
  return static_cast<double>(jobs::time_run(state, started_ns, ran_ns, now_ns)) / 1e9;
}

Json life_json(const jobs::Life& life, jobs::WallTime now_ns) {
  return {{"attempt", life.attempt},
          {"restarts", life.restarts},
          {"retries", life.retries},
          {"cause", to_text(life.cause)},
          {"message", life.message},
          {"exit_code", life.exit_code ? Json(*life.exit_code) : Json()},
          {"placement", json_fields_detail::encode(life.placement)},
          {"ran_s", ran_s(life.state, life.started_ns, life.ran_ns, now_ns)},
          {"not_before", time_json(life.not_before_ns)}};
}

Json attempts_json(Call& call, const jobs::Job& job) {
  struct Attempt {
    jobs::WallTime started_ns = 0;
    jobs::WallTime ended_ns = 0;
  };
  std::map<int, Attempt> attempts;
  for (const jobs::TimelineEntry& entry : call.context.platform.timeline(job.id)) {
    if (entry.attempt == 0) continue;
    Attempt& one = attempts[entry.attempt];
    if (entry.event == jobs::EventKind::started || entry.event == jobs::EventKind::found)
      one.started_ns = one.started_ns == 0 ? entry.at_ns : one.started_ns;
    if (jobs::holds_nodes(entry.from) && !jobs::holds_nodes(entry.to)) one.ended_ns = entry.at_ns;
  }
  Json out = Json::array();
  for (const auto& [number, one] : attempts)
    out.push_back({{"attempt", number},
                   {"run", !call.context.platform.run_of(job.id, number).empty()},
                   {"started", time_json(one.started_ns)},
                   {"ended", time_json(one.ended_ns)}});
  return out;
}

Json may_json(const Caller& caller, jobs::Whose whose) {
  Json out = Json::array();
  for (const auto deed :
       {jobs::Deed::read_job, jobs::Deed::submit_job, jobs::Deed::stop_job, jobs::Deed::change_job,
        jobs::Deed::delete_job, jobs::Deed::enter_job, jobs::Deed::share_job,
        jobs::Deed::raise_priority, jobs::Deed::approve_job})
    if (caller.may(deed, whose)) out.push_back(to_text(deed));
  return out;
}

jobs::JobRow row_of(const jobs::Job& job) {
  return {.id = job.id,
          .name = job.submission.name,
          .owner = job.owner,
          .team = job.team,
          .queue = job.submission.queue,
          .priority = job.submission.priority.value_or(jobs::kDefaultPriority),
          .state = job.life.state,
          .devices = job.submission.nodes * jobs::devices_per_node(job.submission),
          .device_type = job.submission.device_type,
          .verdict = job.life.verdict,
          .submitted_ns = job.life.submitted_ns,
          .started_ns = job.life.started_ns,
          .ended_ns = job.life.ended_ns,
          .array = job.array,
          .array_index = job.array_index,
          .ran_ns = job.life.ran_ns};
}

template <class E>
Json counts_json(const std::map<E, std::int64_t>& counts) {
  Json out = Json::object();
  for (const auto& [what, count] : counts) out[std::string(to_text(what))] = count;
  return out;
}

Json plain_row(const jobs::JobRow& row, jobs::WallTime now_ns) {
  return {{"id", row.id},
          {"name", row.name},
          {"owner", row.owner},
          {"team", row.team},
          {"queue", row.queue},
          {"priority", row.priority},
          {"state", to_text(row.state)},
          {"devices", row.devices},
          {"device_type", row.device_type},
          {"verdict", to_text(row.verdict)},
          {"submitted", time_json(row.submitted_ns)},
          {"started", time_json(row.started_ns)},
          {"ended", time_json(row.ended_ns)},
          {"ran_s", ran_s(row.state, row.started_ns, row.ran_ns, now_ns)},
          {"array", row.array == 0 ? Json() : Json(row.array)},
          {"array_index", row.array_index ? Json(*row.array_index) : Json()},
          {"pending", nullptr},
          {"place", nullptr},
          {"estimated_start", nullptr}};
}

}  // namespace

Json changeable_job(Call& call, const jobs::Job& job) {
  return {{"priority", job.submission.priority.value_or(jobs::kDefaultPriority)},
          {"name", job.submission.name},
          {"shared_with", call.context.accounts.shared_with(job.id)}};
}

jobs::Submission shown_to(const Call& call, const std::string& owner,
                          const jobs::Submission& submission) {
  return owner == call.caller().name ? submission : without_secrets(submission);
}

Json pending_json(const std::optional<jobs::Pending>& pending) {
  if (!pending) return {};
  return {{"kind", to_text(pending->kind)}, {"words", jobs::to_words(*pending)}};
}

Json row_json(Call& call, const jobs::JobRow& row) {
  Json out = plain_row(row, call.now_ns);
  if (row.all)
    out["elements"] = {{"count", row.all->elements},
                       {"first", row.all->first},
                       {"last", row.all->last},
                       {"states", counts_json(row.all->states)},
                       {"verdicts", counts_json(row.all->verdicts)}};
  if (!waits(row.state) ||
      !call.caller().may(jobs::Deed::read_job, whose(call.caller(), row.owner, row.team)))
    return out;
  const auto waiting = call.context.platform.waits(row.id);
  if (!waiting) return out;
  out["pending"] = jobs::to_words(waiting->reason);
  if (waiting->place > 0) out["place"] = waiting->place;
  out["estimated_start"] = time_json(waiting->estimated_start_ns.value_or(0));
  return out;
}

Json row_json(Call& call, const platform::JobView& view) {
  return row_json(call, row_of(view.job));
}

Json job_json(Call& call, const platform::JobView& view) {
  const jobs::Job& job = view.job;
  Json out = plain_row(row_of(job), call.now_ns);
  if (view.place > 0) out["place"] = view.place;
  out["estimated_start"] = time_json(view.estimated_start_ns.value_or(0));
  out["pending"] = pending_json(view.pending);
  out["submission"] = fields_to_json(shown_to(call, job.owner, job.submission));
  out["code"] = job.code;
  out["life"] = life_json(job.life, call.now_ns);
  out["attempts"] = attempts_json(call, job);
  out["may"] = may_json(call.caller(), whose(call, job));
  const platform::KeptUntil until = call.context.platform.kept_until(job.life.ended_ns);
  const bool ended = jobs::is_final(job.life.state);
  out["logs_until"] = time_json(ended ? until.logs_ns.value_or(0) : 0);
  out["kept_until"] = time_json(ended ? until.job_ns.value_or(0) : 0);
  const std::string removed = ended ? call.context.platform.logs_removed_at(job.id) : "";
  out["logs_removed"] = removed.empty() ? Json() : Json(removed);
  out["shared_with"] = call.context.accounts.shared_with(job.id);
  out["etag"] = etag_of(changeable_job(call, job));
  return out;
}

}  // namespace assay::rest
