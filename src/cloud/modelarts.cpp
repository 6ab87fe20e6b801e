#include "cloud/modelarts.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "core/error.h"
#include "core/json_access.h"

namespace assay::cloud {

ModelArtsService::ModelArtsService(http::Client& client, CredentialSource& credentials,
                                   const std::string& endpoint, std::string project_id)
    : client_(client), project_id_(std::move(project_id)) {
  const http::Url url = http::parse_url(endpoint, "the ModelArts endpoint");
  origin_ = url.origin;
  host_ = url.host;
  authorizer_ = [this, &credentials] {
    return std::make_unique<SdkAuthorizer>(client_, credentials, project_id_);
  };
}

ModelArtsService::ModelArtsService(http::Client& client, IamTokens& tokens,
                                   const std::string& endpoint, std::string project_id)
    : client_(client), project_id_(std::move(project_id)) {
  const http::Url url = http::parse_url(endpoint, "the ModelArts endpoint");
  origin_ = url.origin;
  host_ = url.host;
  authorizer_ = [&tokens] { return std::make_unique<TokenAuthorizer>(tokens); };
}

Json ModelArtsService::call(const std::string& method, const std::string& version,
                            const std::string& path, const http::Query& query, const Json& body,
                            std::optional<bool> repeatable, const std::stop_token& stop) {
  http::Request request;
  request.method = method;
  request.origin = origin_;
  request.path = fmt::format("/{}/{}{}", version, project_id_, path);
  request.query = query;
  request.repeatable = repeatable;
  request.set_header("Content-Type", "application/json");
  if (!body.is_null()) request.body = dump_line(body);
  const auto authorizer = authorizer_();
  http::Exchange exchange;
  exchange.authorizer = authorizer.get();
  exchange.stop = stop;
  const http::Response response = client_.send(request, exchange);
  const std::string what = fmt::format("{} {}{}", method, version, path);
  if (!response.ok()) throw service_error(client_, response, what, host_);
  if (response.body.empty() || response.status == 204) return {};
  Json out = parse_json_or_null(response.body);
  if (out.is_null() && response.body != "null")
    throw unexpected_answer(client_, response, what, host_);
  // v1 also reports refusals with status 200.
  if (out.is_object() && out.contains("is_success") && out["is_success"] == false)
    throw service_error(client_, response, what, host_);
  return out;
}

JobPhase phase_from_v2(std::string_view text) noexcept {
  if (text == "Creating" || text == "Pending") return JobPhase::waiting;
  if (text == "Running") return JobPhase::running;
  if (text == "Completed") return JobPhase::completed;
  if (text == "Failed" || text == "Abnormal") return JobPhase::failed;
  if (text == "Terminating") return JobPhase::stopping;
  if (text == "Terminated") return JobPhase::stopped;
  return JobPhase::unknown;
}

namespace {

struct OldStatus {
  std::string_view name;
  JobPhase phase;
};

// Indexed by number.
constexpr std::array<OldStatus, 23> kOldStatuses{{
    {"UNKNOWN", JobPhase::unknown},
    {"INIT", JobPhase::waiting},
    {"IMAGE_CREATING", JobPhase::waiting},
    {"IMAGE_FAILED", JobPhase::failed},
    {"SUBMIT_TRYING", JobPhase::waiting},
    {"SUBMIT_FAILED", JobPhase::failed},
    {"DELETE_FAILED", JobPhase::failed},
    {"WAITING", JobPhase::waiting},
    {"RUNNING", JobPhase::running},
    {"KILLING", JobPhase::stopping},
    {"COMPLETED", JobPhase::completed},
    {"FAILED", JobPhase::failed},
    {"KILLED", JobPhase::stopped},
    {"CANCELED", JobPhase::stopped},
    {"LOST", JobPhase::failed},
    {"SCALING", JobPhase::running},
    {"SUBMIT_MODEL_FAILED", JobPhase::failed},
    {"DEPLOY_SERVICE_FAILED", JobPhase::failed},
    {"CHECK_INIT", JobPhase::waiting},
    {"CHECK_RUNNING", JobPhase::waiting},
    {"CHECK_RUNNING_COMPLETED", JobPhase::waiting},
    {"CHECK_FAILED", JobPhase::failed},
    {"22", JobPhase::failed},
}};

bool is_old_status(int status) noexcept {
  return status >= 0 && static_cast<std::size_t>(status) < kOldStatuses.size();
}

}  // namespace

JobPhase phase_from_v1(int status) noexcept {
  return is_old_status(status) ? kOldStatuses[static_cast<std::size_t>(status)].phase
                               : JobPhase::unknown;
}

std::string v1_status_name(int status) {
  if (!is_old_status(status)) return fmt::format("JOBSTAT_{}", status);
  return fmt::format("JOBSTAT_{}", kOldStatuses[static_cast<std::size_t>(status)].name);
}

void check(const TrainingJobSpec& spec) {
  const auto wrong = [](const std::string& what, const std::string& advice) {
    return Error(ErrorKind::config, what, {}, advice);
  };
  const bool named =
      !spec.name.empty() && spec.name.size() <= 64 &&
      std::all_of(spec.name.begin(), spec.name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
      });
  if (!named)
    throw wrong(fmt::format("'{}' cannot be a job's name", spec.name),
                "1 to 64 letters, digits, '_' and '-'");
  const auto is_folder = [](const std::string& path) {
    return path.size() > 2 && path.front() == '/' && path.back() == '/' && path[1] != '/';
  };
  const auto folder = [&](const std::string& path, const std::string& what) {
    if (!is_folder(path))
      throw wrong(fmt::format("{} is not an OBS folder: '{}'", what, path),
                  "write it /bucket/folder/ with both slashes");
  };
  folder(spec.code_dir, "the code folder");
  if (!spec.boot_file.starts_with(spec.code_dir) || spec.boot_file == spec.code_dir)
    throw wrong(fmt::format("the boot file '{}' is not in the code folder '{}'", spec.boot_file,
                            spec.code_dir),
                "give the file's whole path, below the code folder");
  for (const auto& link : spec.outputs) folder(link.obs_url, "the output " + link.name);
  if (!spec.log_url.empty()) folder(spec.log_url, "the log folder");
  if (spec.node_count < 1) throw wrong("a job needs at least one node", "set the number of nodes");
  if (spec.flavor_id.empty() && spec.pool_id.empty())
    throw wrong("neither a flavor nor a pool is given", "list the flavors, and choose one");
  if (spec.environment.size() > 100)
    throw wrong("more than 100 environment variables", "the service takes at most 100");
  if (spec.description.size() > 256)
    throw wrong("the description is too long", "at most 256 characters");
}

Json to_json(const TrainingJobSpec& spec) {
  const auto links = [](const std::vector<DataLink>& from) {
    Json out = Json::array();
    for (const auto& link : from)
      out.push_back({{"name", link.name}, {"remote", {{"obs", {{"obs_url", link.obs_url}}}}}});
    return out;
  };
  const auto add = [](Json& to, const char* key, const std::string& value) {
    if (!value.empty()) to[key] = value;
  };
  Json out;
  out["kind"] = "job";
  out["metadata"]["name"] = spec.name;
  add(out["metadata"], "description", spec.description);
  add(out["metadata"], "workspace_id", spec.workspace_id);
  Json& algorithm = out["algorithm"];
  algorithm["code_dir"] = spec.code_dir;
  if (spec.command.empty()) algorithm["boot_file"] = spec.boot_file;  // an image runs its command
  algorithm["engine"] = Json::object();
  add(algorithm["engine"], "engine_id", spec.engine_id);
  add(algorithm["engine"], "engine_name", spec.engine_name);
  add(algorithm["engine"], "engine_version", spec.engine_version);
  add(algorithm["engine"], "image_url", spec.image_url);
  add(algorithm, "command", spec.command);
  algorithm["parameters"] = Json::array();
  for (const auto& [name, value] : spec.parameters)
    algorithm["parameters"].push_back({{"name", name}, {"value", value}});
  algorithm["inputs"] = links(spec.inputs);
  algorithm["outputs"] = links(spec.outputs);
  algorithm["environments"] = Json::object();
  for (const auto& [name, value] : spec.environment) algorithm["environments"][name] = value;
  Json& resource = out["spec"]["resource"];
  resource = Json::object();
  add(resource, "flavor_id", spec.flavor_id);
  add(resource, "pool_id", spec.pool_id);
  resource["node_count"] = spec.node_count;
  for (const auto& volume : spec.volumes)
    out["spec"]["volumes"].push_back({{"nfs",
                                       {{"nfs_server_path", volume.server_path},
                                        {"local_path", volume.local_path},
                                        {"read_only", volume.read_only}}}});
  if (!spec.log_url.empty()) out["spec"]["log_export_path"] = {{"obs_url", spec.log_url}};
  if (spec.auto_stop_hours > 0)
    out["spec"]["auto_stop"] = {{"time_unit", "HOURS"}, {"duration", spec.auto_stop_hours}};
  return out;
}

TrainingJob training_job_from_json(const Json& json) {
  const Json& metadata = object_at(json, "metadata");
  const Json& status = object_at(json, "status");
  TrainingJob job;
  job.id = any_text_at(metadata, "id");
  job.name = any_text_at(metadata, "name");
  job.created_ms = any_integer_at(metadata, "create_time");
  job.phase_text = any_text_at(status, "phase");
  job.phase = phase_from_v2(job.phase_text);
  job.started_ms = any_integer_at(status, "start_time");
  job.duration_ms = any_integer_at(status, "duration");
  for (const auto& task : list_at(status, "tasks"))
    if (task.is_string()) job.tasks.push_back(task.get<std::string>());
  for (const auto& task : list_at(status, "task_statuses")) {
    if (any_integer_at(task, "exit_code") == 0 && any_text_at(task, "message").empty()) continue;
    if (!job.message.empty()) job.message += "; ";
    job.message += fmt::format("{}: exit {} {}", any_text_at(task, "task"),
                               any_integer_at(task, "exit_code"), any_text_at(task, "message"));
  }
  job.node_count = static_cast<int>(
      any_integer_at(object_at(object_at(json, "spec"), "resource"), "node_count"));
  job.raw = json;
  return job;
}

}  // namespace assay::cloud
