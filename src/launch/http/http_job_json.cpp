#include "launch/http/http_job_json.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/json_access.h"

namespace assay::launch {

namespace {

using cloud::JobPhase;

struct State {
  std::string_view name;
  JobPhase phase;
};

constexpr std::array<State, 7> kStates{{{"queued", JobPhase::waiting},
                                        {"running", JobPhase::running},
                                        {"stopping", JobPhase::stopping},
                                        {"succeeded", JobPhase::completed},
                                        {"failed", JobPhase::failed},
                                        {"stopped", JobPhase::stopped},
                                        {"lost", JobPhase::failed}}};

/// Milliseconds since 1970; 0 for what cannot be a time of a job.
std::int64_t time_at(const Json& json, const char* key) {
  constexpr std::int64_t kLatest = 7'258'118'400'000;  // the year 2200
  const std::int64_t value = integer_at(json, key, 0);
  return value > 0 && value < kLatest ? value : 0;
}

/// What can be a part of a path and leads nowhere else.
bool is_id(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= 256 && text.front() != '.' &&
         std::ranges::all_of(text, plain);
}

}  // namespace

Json http_job_request(const plan::HttpOptions& options, const RoundJob& job) {
  const std::string store = "s3://" + options.bucket + "/";
  Json environment = Json::object();
  for (const auto& [name, value] : job.plan_case.env) environment[name] = value;
  Json body{{"key", job.name},
            {"description", "assay " + job.run_id},
            {"instances", job.plan_case.nodes},
            {"processes", job.plan_case.procs},
            {"command", job.plan_case.command},
            {"environment", std::move(environment)},
            {"code", store + job.code},
            {"output", store + job.output}};
  if (!options.image.empty()) body["image"] = options.image;
  if (!options.resources.empty()) body["resources"] = options.resources;
  if (job.plan_case.limits.time.count() > 0)
    body["time_limit_s"] = seconds(job.plan_case.limits.time);
  return body;
}

std::optional<ServiceJob> http_job_from_json(const Json& json) {
  ServiceJob job;
  job.id = text_at(json, "id");
  job.phase_text = text_at(json, "state");
  if (!is_id(job.id) || job.phase_text.empty()) return std::nullopt;
  for (const State& state : kStates)
    if (state.name == job.phase_text) job.phase = state.phase;
  job.taken = job.phase_text == "lost";
  job.message = text_at(json, "message");
  job.key = text_at(json, "key");
  job.created_ms = time_at(json, "created_ms");
  job.started_ms = time_at(json, "started_ms");
  const std::int64_t ended = time_at(json, "ended_ms");
  if (job.started_ms > 0 && ended > job.started_ms) job.duration_ms = ended - job.started_ms;
  int number = 0;
  for (const Json& instance : list_at(json, "instances")) {
    if (const auto code = integer_at(instance, "exit_code")) job.exit_codes[number] = *code;
    if (const auto bytes = integer_at(instance, "log_bytes"); bytes && *bytes >= 0)
      job.log_bytes[number] = static_cast<std::uint64_t>(*bytes);
    ++number;
  }
  return job;
}

}  // namespace assay::launch
