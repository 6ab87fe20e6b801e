#include <chrono>

#include "core/json_fields.h"
#include "core/json_unknown_fields.h"
#include "rest/call.h"
#include "rest/change_guard.h"

namespace assay::rest {

using jobs::Deed;

namespace {

constexpr std::size_t kNamedJobs = 20;
constexpr Nanoseconds kToLook = std::chrono::seconds(1);

// With zeros for what is never done.
template <class P>
Json policy_json(const P& policy) {
  Json out = fields_to_json(policy);
  out["etag"] = etag_of(fields_to_json(policy));
  return out;
}

// `now`, with what the body names.
template <class P>
P read_policy(const Json& given, const P& now) {
  Json body = given;
  body.erase("etag");
  refuse_unknown_fields<P>(body);
  Json merged = fields_to_json(now);
  merged.update(body);
  return fields_from_json<P>(merged, {});
}

template <auto kPolicy>
serve::HttpResponse policy(Call& call) {
  return json_answer(policy_json(call.context.platform.settings().*kPolicy));
}

template <auto kPolicy>
serve::HttpResponse put_policy(Call& call) {
  {
    const std::scoped_lock lock(call.context.settings);
    platform::Settings settings = call.context.platform.settings();
    const auto next = read_policy(call.body, settings.*kPolicy);
    check_unchanged(call, fields_to_json(settings.*kPolicy));
    settings.*kPolicy = next;
    call.context.platform.change_settings(settings);
  }
  return policy<kPolicy>(call);
}

Json retained(const std::vector<jobs::JobRow>& rows) {
  Json out = Json::array();
  for (const jobs::JobRow& row : rows)
    out.push_back({{"id", row.id},
                   {"name", row.name},
                   {"owner", row.owner},
                   {"ended", time_json(row.ended_ns)}});
  return out;
}

serve::HttpResponse preview_retention(Call& call) {
  platform::RetentionPolicy policy = call.context.platform.settings().retention;
  policy.logs_days = call.asked_number("logs_days", policy.logs_days, 0, 36'500);
  policy.jobs_days = call.asked_number("jobs_days", policy.jobs_days, 0, 36'500);
  const platform::RemovalAhead ahead =
      call.context.platform.would_remove(policy, call.now_ns, kNamedJobs, kToLook);
  return json_answer({{"jobs", retained(ahead.first_jobs)},
                      {"logs", retained(ahead.first_logs)},
                      {"jobs_total", ahead.jobs},
                      {"logs_total", ahead.logs},
                      {"whole", ahead.whole}});
}

Route get_policy(const char* path, serve::HttpResponse (*handler)(Call&), const char* summary,
                 const char* answer) {
  return {.method = "GET",
          .path = path,
          .handler = handler,
          .deed = Deed::read_cluster,
          .summary = summary,
          .answer = answer};
}

Route set_policy(const char* path, serve::HttpResponse (*handler)(Call&), const char* summary,
                 const char* answer) {
  return {.method = "PUT",
          .path = path,
          .handler = handler,
          .deed = Deed::set_policy,
          .summary = summary,
          .answer = answer,
          .request = answer,
          .body = Body::json,
          .guarded = true};
}

}  // namespace

std::vector<Route> policy_routes() {
  return {
      get_policy("/api/v1/policies/idle", policy<&platform::Settings::idle>,
                 "When jobs whose devices do nothing are warned and stopped; 0: never",
                 "IdlePolicy"),
      set_policy("/api/v1/policies/idle", put_policy<&platform::Settings::idle>,
                 "Change when idle jobs are warned and stopped", "IdlePolicy"),
      get_policy("/api/v1/policies/retention", policy<&platform::Settings::retention>,
                 "How many days what jobs leave is kept; 0: for ever", "RetentionPolicy"),
      set_policy("/api/v1/policies/retention", put_policy<&platform::Settings::retention>,
                 "Change how long what jobs leave is kept", "RetentionPolicy"),
      {.method = "GET",
       .path = "/api/v1/policies/retention/preview",
       .handler = preview_retention,
       .deed = Deed::set_policy,
       .summary = "What a retention would remove now, or the one that there is",
       .answer = "RetentionPreview",
       .query = {{"logs_days", "integer", "as of the policy; the present one by default"},
                 {"jobs_days", "integer", "as of the policy; the present one by default"}}},
  };
}

}  // namespace assay::rest
