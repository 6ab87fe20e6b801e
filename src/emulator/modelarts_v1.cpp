#include <algorithm>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"
#include "emulator/modelarts_service.h"

namespace assay::emulator {

namespace {

ServerResponse failed(int status, const std::string& code, const std::string& message) {
  return json_reply(status,
                    {{"is_success", false}, {"error_message", message}, {"error_code", code}});
}

template <class T>
std::vector<T> page_of(const std::vector<T>& all, const ServerRequest& request) {
  const auto size = static_cast<std::size_t>(std::clamp(request.number("per_page", 10), 1, 1000));
  const auto first = static_cast<std::size_t>(std::max(request.number("page", 1), 1) - 1) * size;
  if (first >= all.size()) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), first + size))};
}

int as_int(std::string_view text) {
  return parse_number<int>(text).value_or(-1);
}

}  // namespace

ServerResponse ModelArtsService::handle_v1(const ServerRequest& request, const Path& path) {
  const std::string& method = request.method;
  if (path.size() == 2 && path[0] == "job" && path[1] == "resource-specs") {
    Json specs = Json::array();
    int id = 0;
    for (const auto& flavor : settings_.flavors)
      specs.push_back(
          {{"spec_id", ++id},
           {"core", fmt::format("{}", flavor["flavor_info"]["cpu"].value("core_num", 0))},
           {"spec_code", flavor.value("flavor_id", "")},
           {"max_num", flavor["flavor_info"].value("max_num", 1)},
           {"unit_num", flavor["flavor_info"].value("npu", Json::object()).value("unit_num", 0)},
           {"no_resource", false}});
    return json_reply(200,
                      {{"is_success", true}, {"specs", specs}, {"spec_total_count", specs.size()}});
  }
  if (path.size() == 2 && path[0] == "job" && path[1] == "ai-engines") {
    Json engines = Json::array();
    int id = 0;
    for (const auto& engine : settings_.engines)
      engines.push_back({{"engine_type", 13},
                         {"engine_id", ++id},
                         {"engine_name", engine.value("engine_name", "")},
                         {"engine_version",
                          engine.value("v1_engine_version", engine.value("engine_version", ""))}});
    return json_reply(200, {{"is_success", true}, {"engines", engines}});
  }
  if (path[0] != "training-jobs") return failed(404, "ModelArts.0101", "no such interface");
  if (path.size() == 1) return method == "POST" ? create_old(request) : list_old(request);
  const auto job = std::find_if(old_jobs_.begin(), old_jobs_.end(),
                                [&](const OldJob& j) { return j.id == as_int(path[1]); });
  // Like the service, which considers any answer a 200.
  if (job == old_jobs_.end()) return failed(200, "ModelArts.0104", "The job does not exist.");
  if (path.size() == 2 && method == "DELETE") {
    for (const auto& version : job->versions) runner_->stop(version.run_id);
    old_jobs_.erase(job);
    return json_reply(200, {{"is_success", true}});
  }
  if (path.size() == 3 && path[2] == "versions")
    return method == "POST" ? add_version(request, *job) : list_versions(request, *job);
  if (path.size() >= 4 && path[2] == "versions") return version_operation(request, *job, path);
  return failed(404, "ModelArts.0101", "no such interface");
}

std::optional<ServerResponse> ModelArtsService::refuse_config(const Json& config) {
  const auto [bucket, prefix] = split_obs_path(text_at(config, "app_url"));
  if (bucket.empty() || !store_.has_prefix(bucket, prefix))
    return failed(400, "ModelArts.0105", "app_url does not exist");
  const auto boot = split_obs_path(text_at(config, "boot_file_url"));
  if (boot.first != bucket || !boot.second.starts_with(prefix) ||
      !store_.has(boot.first, boot.second))
    return failed(400, "ModelArts.0105", "boot_file_url is not in app_url");
  const auto id_in = [&](const char* name, std::size_t count) {
    const Json value = config.value(name, Json());
    return value.is_number_integer() && value >= 1 && value <= count;
  };
  if (!id_in("spec_id", settings_.flavors.size()) && !config.contains("pool_id"))
    return failed(400, "ModelArts.0105", "spec_id is wrong");
  if (!id_in("engine_id", settings_.engines.size()))
    return failed(400, "ModelArts.0105", "engine_id is wrong");
  return std::nullopt;
}

ModelArtsService::OldVersion ModelArtsService::start_version(OldJob& job, const Json& config) {
  OldVersion version;
  version.id = ++next_version_id_;
  version.name = fmt::format("V{:04}", job.versions.size() + 1);
  version.run_id = fmt::format("v1-{}-{}", job.id, version.id);
  version.created_ms = accounts_.clock() / 1'000'000;
  version.config = config;
  runner_->start(to_run(job, version));
  job.versions.push_back(version);
  return version;
}

JobToRun ModelArtsService::to_run(const OldJob& job, const OldVersion& version) const {
  const Json& config = version.config;
  JobToRun run;
  run.id = version.run_id;
  run.name = job.name;
  run.code_dir = text_at(config, "app_url");
  run.boot_file = text_at(config, "boot_file_url");
  run.nodes = config.value("worker_server_num", 1);
  const auto spec = config.value("spec_id", std::size_t{0});
  if (spec >= 1 && spec <= settings_.flavors.size())
    run.cards = cards_of(settings_.flavors[spec - 1]);
  run.per_card = run.cards > 0;
  for (const auto& parameter : config.value("parameter", Json::array()))
    run.parameters.emplace_back(text_at(parameter, "label"), text_at(parameter, "value"));
  // The service passes s3:// addresses, which the job reads with moxing: not available here.
  if (const std::string url = text_at(config, "data_url"); !url.empty())
    run.inputs.push_back({"data_url", url});
  if (const std::string url = text_at(config, "train_url"); !url.empty())
    run.outputs.push_back({"train_url", url});
  const std::string logs = text_at(config, "log_url");
  for (int i = 0; i < run.nodes && !logs.empty(); ++i)
    run.logs.push_back(fmt::format("{}{}-job-{}-{}.log", logs, job.resource_id, job.name, i));
  return run;
}

ServerResponse ModelArtsService::create_old(const ServerRequest& request) {
  const Json body = parse_json_or_null(request.body);
  if (!body.is_object() || !body.contains("config"))
    return failed(400, "ModelArts.0105", "the body is not valid JSON of a job");
  const std::string name = text_at(body, "job_name");
  for (const auto& job : old_jobs_)
    if (job.name == name) return failed(400, "ModelArts.0103", "The job name exists.");
  if (auto refusal = refuse_config(body.at("config"))) return *refusal;
  OldJob job;
  job.id = ++next_old_id_;
  job.name = name;
  job.description = text_at(body, "job_desc");
  job.resource_id = fmt::format("job{:08x}", job.id * 2654435761U);
  old_jobs_.push_back(job);
  const OldVersion version = start_version(old_jobs_.back(), body.at("config"));
  // The service's sample shows numbers as strings.
  return json_reply(200, {{"is_success", true},
                          {"job_id", fmt::format("{}", job.id)},
                          {"job_name", name},
                          {"status", "1"},
                          {"create_time", fmt::format("{}", version.created_ms)},
                          {"version_id", fmt::format("{}", version.id)},
                          {"version_name", version.name},
                          {"resource_id", job.resource_id}});
}

Json ModelArtsService::describe(const OldJob& job, const OldVersion& version) {
  const JobProgress progress = runner_->progress(version.run_id);
  const std::int64_t end = progress.ended_ns != 0 ? progress.ended_ns : wall_now_ns();
  Json out = version.config;
  out["is_success"] = true;
  out["job_id"] = job.id;
  out["job_name"] = job.name;
  out["job_desc"] = job.description;
  out["version_id"] = version.id;
  out["version_name"] = version.name;
  out["resource_id"] = job.resource_id;
  out["status"] = stage_name(progress.stage).v1;
  out["create_time"] = version.created_ms;
  if (progress.started_ns != 0) out["start_time"] = progress.started_ns / 1'000'000;
  out["duration"] = progress.started_ns == 0 ? 0 : (end - progress.started_ns) / 1'000'000;
  return out;
}

ServerResponse ModelArtsService::list_old(const ServerRequest& request) {
  const std::string wanted = request.parameter("search_content").value_or("");
  std::vector<Json> found;
  for (const auto& job : old_jobs_) {
    if (job.name.find(wanted) == std::string::npos) continue;
    Json description = describe(job, job.versions.back());
    found.push_back({{"job_id", description["job_id"]},
                     {"job_name", description["job_name"]},
                     {"version_id", description["version_id"]},
                     {"status", description["status"]},
                     {"create_time", description["create_time"]},
                     {"duration", description["duration"]},
                     {"job_desc", description["job_desc"]},
                     {"version_count", job.versions.size()}});
  }
  std::sort(found.begin(), found.end(),
            [](const Json& a, const Json& b) { return a["job_name"] < b["job_name"]; });
  if (request.parameter("order").value_or("asc") == "desc")
    std::reverse(found.begin(), found.end());
  return json_reply(
      200,
      {{"is_success", true}, {"job_total_count", found.size()}, {"jobs", page_of(found, request)}});
}

ServerResponse ModelArtsService::list_versions(const ServerRequest& request, const OldJob& job) {
  std::vector<Json> all;
  for (auto version = job.versions.rbegin(); version != job.versions.rend(); ++version)
    all.push_back(describe(job, *version));
  return json_reply(200, {{"is_success", true},
                          {"job_id", job.id},
                          {"job_name", job.name},
                          {"version_count", all.size()},
                          {"versions", page_of(all, request)}});
}

ServerResponse ModelArtsService::add_version(const ServerRequest& request, OldJob& job) {
  const Json body = parse_json_or_null(request.body);
  const Json config = body.is_object() ? body.value("config", Json::object()) : Json::object();
  const bool known = std::any_of(job.versions.begin(), job.versions.end(), [&](const auto& v) {
    return config.value("pre_version_id", 0) == v.id;
  });
  if (!known) return failed(400, "ModelArts.0105", "pre_version_id is wrong");
  if (auto refusal = refuse_config(config)) return *refusal;
  const OldVersion version = start_version(job, config);
  return json_reply(200, {{"is_success", true},
                          {"job_id", job.id},
                          {"job_name", job.name},
                          {"status", 1},
                          {"create_time", version.created_ms},
                          {"version_id", version.id},
                          {"version_name", version.name}});
}

ServerResponse ModelArtsService::version_operation(const ServerRequest& request, OldJob& job,
                                                   const Path& path) {
  const auto found =
      std::find_if(job.versions.begin(), job.versions.end(),
                   [&](const OldVersion& version) { return version.id == as_int(path[3]); });
  if (found == job.versions.end())
    return failed(200, "ModelArts.0104", "The version does not exist.");
  const std::string what = path.size() > 4 ? std::string(path[4]) : "";
  if (path.size() == 4 && request.method == "GET") return json_reply(200, describe(job, *found));
  const JobProgress progress = runner_->progress(found->run_id);
  if (what == "stop" && request.method == "POST") {
    if (progress.ended_ns != 0)
      return failed(400, "ModelArts.0107", "The version's status does not allow this.");
    runner_->stop(found->run_id);
    return json_reply(200, {{"is_success", true}});
  }
  const int nodes = found->config.value("worker_server_num", 1);
  const auto file_name = [&](int i) {
    return fmt::format("{}-job-{}-{}.log", job.resource_id, job.name, i);
  };
  if (what == "log" && path.size() == 6 && path[5] == "file-names") {
    Json names = Json::array();
    for (int i = 0; i < nodes && progress.started_ns != 0; ++i) names.push_back(file_name(i));
    return json_reply(200, {{"is_success", true}, {"log_file_list", names}});
  }
  if (what != "aom-log") return failed(404, "ModelArts.0101", "no such interface");
  for (int i = 0; i < nodes; ++i) {
    if (request.parameter("log_file") != file_name(i)) continue;
    const std::string log = runner_->log(found->run_id, i);
    const auto lines = split(std::string_view(log), '\n');
    const int total = static_cast<int>(lines.size()) - 1;
    const int from = std::clamp(request.number("base_line", 0), 0, total);
    const int to = std::min(total, from + std::clamp(request.number("lines", 50), 0, 500));
    std::string content;
    for (int k = from; k < to; ++k)
      content += std::string(lines[static_cast<std::size_t>(k)]) + "\n";
    return json_reply(200, {{"is_success", true},
                            {"content", content},
                            {"lines", to - from},
                            {"start_line", from},
                            {"end_line", to}});
  }
  return failed(404, "ModelArts.0104", "The log file does not exist.");
}

}  // namespace assay::emulator
