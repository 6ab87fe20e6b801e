#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/json_error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"
#include "emulator/modelarts_service.h"
#include "emulator/process_runner.h"
#include "emulator/timed_runner.h"

namespace assay::emulator {

namespace {

std::string make_uuid() {
  std::random_device device;
  std::string out;
  for (const int digits : {8, 4, 4, 4, 12}) {
    if (!out.empty()) out += '-';
    for (int i = 0; i < digits; ++i) out += fmt::format("{:x}", device() & 15U);
  }
  return out;
}

bool good_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
}

bool passes(const Json& filter, const Json& job) {
  const std::string key = filter.value("key", "");
  const std::string operation = filter.value("operator", "");
  const Json values = filter.value("value", Json::array());
  Json actual;
  if (key == "name") actual = job["metadata"]["name"];
  if (key == "phase") actual = job["status"]["phase"];
  if (key == "create_time") actual = job["metadata"]["create_time"];
  if (actual.is_null()) return true;
  if (operation == "between")
    return values.size() == 2 && actual >= values[0] && actual <= values[1];
  const bool any = std::any_of(values.begin(), values.end(), [&](const Json& value) {
    if (operation != "like") return value == actual;
    return value.is_string() && actual.is_string() &&
           actual.get<std::string>().find(value.get<std::string>()) != std::string::npos;
  });
  return operation == "not" ? !any : any;
}

}  // namespace

std::pair<std::string, std::string> split_obs_path(std::string_view path) {
  if (path.starts_with("obs://")) path.remove_prefix(5);
  if (!path.starts_with('/')) return {};
  const std::size_t slash = path.find('/', 1);
  if (slash == std::string_view::npos) return {std::string(path.substr(1)), ""};
  return {std::string(path.substr(1, slash - 1)), std::string(path.substr(slash + 1))};
}

int cards_of(const Json& flavor) {
  const Json info = flavor.value("flavor_info", Json::object());
  for (const char* kind : {"npu", "gpu"})
    if (info.contains(kind)) return info.at(kind).value("unit_num", 0);
  return 0;
}

ModelArtsService::ModelArtsService(const Settings& settings, Accounts& accounts, ObsStore& store,
                                   JobFaults& faults)
    : settings_(settings), accounts_(accounts), store_(store) {
  if (settings.run_jobs)
    runner_ = std::make_unique<ProcessRunner>(settings, store, faults);
  else
    runner_ = std::make_unique<TimedRunner>(settings.job_pending, settings.job_running);
}

ModelArtsService::~ModelArtsService() = default;

ServerResponse ModelArtsService::handle(const ServerRequest& request) {
  const Path path = split(std::string_view(request.path).substr(1), '/');
  if (path.size() < 3) return modelarts_error(404, "APIGW.0101", "The API does not exist");
  if (auto refusal = accounts_.refuse_modelarts(request, std::string(path[1]))) return *refusal;
  const std::lock_guard lock(mutex_);
  const Path rest(path.begin() + 2, path.end());
  return path[0] == "v1" ? handle_v1(request, rest) : handle_v2(request, rest);
}

ServerResponse ModelArtsService::handle_v2(const ServerRequest& request, const Path& path) {
  const std::string& method = request.method;
  if (path[0] == "training-job-searches" && method == "POST") return search(request);
  if (path[0] == "training-job-flavors" && method == "GET") {
    const auto type = request.parameter("flavor_type");
    Json chosen = Json::array();
    for (const auto& flavor : settings_.flavors)
      if (!type || flavor.value("flavor_type", "") == *type) chosen.push_back(flavor);
    return json_reply(200, {{"total_count", chosen.size()}, {"flavors", chosen}});
  }
  if (path[0] == "training-job-engines" && method == "GET")
    return json_reply(200, {{"total", settings_.engines.size()}, {"items", settings_.engines}});
  if (path[0] != "training-jobs")
    return modelarts_error(404, "APIGW.0101", "The API does not exist");
  if (path.size() == 1 && method == "POST") return create(request);
  for (const auto& job : jobs_)
    if (path.size() > 1 && job.id == path[1]) return job_operation(request, job, path);
  return modelarts_error(400, "ModelArts.2775", "The training job does not exist.");
}

std::optional<ServerResponse> ModelArtsService::refuse_creation(const Json& body) {
  const auto refuse = [](int number, const std::string& why) {
    return modelarts_error(400, fmt::format("ModelArts.{}", number), why);
  };
  const std::string name = text_at_path(body, "metadata/name");
  if (!good_name(name)) return refuse(2788, "metadata.name must match ^[a-zA-Z0-9_-]{1,64}$");
  for (const auto& job : jobs_)
    if (job.name == name) return refuse(2751, "A training job with this name exists.");
  const auto [bucket, prefix] = split_obs_path(text_at_path(body, "algorithm/code_dir"));
  if (bucket.empty() || !prefix.ends_with('/') || !store_.has_prefix(bucket, prefix))
    return refuse(2757, "The code directory does not exist.");
  const auto boot = split_obs_path(text_at_path(body, "algorithm/boot_file"));
  const bool has_command = !text_at_path(body, "algorithm/command").empty();
  if (!has_command && (boot.first != bucket || !boot.second.starts_with(prefix) ||
                       !store_.has(boot.first, boot.second)))
    return refuse(2758, "The boot file is not in the code directory.");
  const std::string flavor = text_at_path(body, "spec/resource/flavor_id");
  const auto known =
      std::find_if(settings_.flavors.begin(), settings_.flavors.end(),
                   [&](const Json& f) { return f.value("flavor_id", "") == flavor; });
  if (text_at_path(body, "spec/resource/pool_id").empty() && known == settings_.flavors.end())
    return refuse(2763, "The flavor does not exist.");
  const int nodes = body["spec"]["resource"].value("node_count", 1);
  if (nodes < 1 ||
      (known != settings_.flavors.end() && nodes > (*known)["flavor_info"].value("max_num", 1)))
    return refuse(2793, "node_count is out of the flavor's range.");
  const Json engine = body["algorithm"].value("engine", Json::object());
  const bool engine_known =
      std::any_of(settings_.engines.begin(), settings_.engines.end(), [&](const Json& e) {
        return engine.value("engine_id", "") == e.value("engine_id", "-") ||
               (engine.value("engine_name", "") == e.value("engine_name", "-") &&
                engine.value("engine_version", "") == e.value("engine_version", "-"));
      });
  if (!engine_known && engine.value("image_url", "").empty())
    return refuse(2780, "The engine does not exist.");
  for (const auto& output : body["algorithm"].value("outputs", Json::array()))
    if (!text_at_path(output, "remote/obs/obs_url").ends_with('/'))
      return refuse(2791, "An OBS path of an output must end with /.");
  return std::nullopt;
}

ServerResponse ModelArtsService::create(const ServerRequest& request) {
  Json body = parse_json_or_null(request.body);
  if (!body.is_object() || body.value("kind", "") != "job")
    return modelarts_error(400, "ModelArts.2787", "The body is not valid JSON of a job.");
  try {
    if (auto refusal = refuse_creation(body)) return *refusal;
    Job job{make_uuid(), text_at_path(body, "metadata/name"), accounts_.clock() / 1'000'000,
            body["spec"]["resource"].value("node_count", 1), body};
    runner_->start(to_run(job));
    jobs_.push_back(std::move(job));
  } catch (const nlohmann::json::exception& e) {
    return modelarts_error(400, "ModelArts.2788", plain_error(e));
  }
  return json_reply(201, describe(jobs_.back()));
}

JobToRun ModelArtsService::to_run(const Job& job) const {
  const Json& algorithm = job.body.at("algorithm");
  JobToRun run;
  run.id = job.id;
  run.name = job.name;
  run.code_dir = text_at(algorithm, "code_dir");
  run.boot_file = text_at(algorithm, "boot_file");
  run.command = text_at(algorithm, "command");
  run.nodes = job.nodes;
  const std::string flavor = text_at_path(job.body, "spec/resource/flavor_id");
  for (const auto& known : settings_.flavors)
    if (known.value("flavor_id", "") == flavor) run.cards = cards_of(known);
  for (const auto& parameter : algorithm.value("parameters", Json::array()))
    run.parameters.emplace_back(text_at(parameter, "name"), text_at(parameter, "value"));
  for (const auto& input : algorithm.value("inputs", Json::array()))
    run.inputs.push_back({text_at(input, "name"), text_at_path(input, "remote/obs/obs_url")});
  for (const auto& output : algorithm.value("outputs", Json::array()))
    run.outputs.push_back({text_at(output, "name"), text_at_path(output, "remote/obs/obs_url")});
  const Json environment = algorithm.value("environments", Json::object());
  for (const auto& item : environment.items())
    if (item.value().is_string()) run.environment[item.key()] = item.value().get<std::string>();
  // With rank tables, the Ascend engine itself starts the boot file on every card.
  run.per_card = run.cards > 0 && run.command.empty() && !run.environment.contains("MA_RUN_METHOD");
  const std::string logs = text_at_path(job.body, "spec/log_export_path/obs_url");
  for (int i = 0; i < job.nodes && !logs.empty(); ++i)
    run.logs.push_back(fmt::format("{}modelarts-job-{}-worker-{}.log", logs, job.id, i));
  const Json auto_stop = job.body.at("spec").value("auto_stop", Json::object());
  run.time_limit = std::chrono::hours(auto_stop.value("duration", 0));
  return run;
}

Json ModelArtsService::describe(const Job& job) {
  const JobProgress progress = runner_->progress(job.id);
  Json out = job.body;
  out["metadata"]["id"] = job.id;
  out["metadata"]["create_time"] = job.created_ms;
  out["metadata"]["user_name"] = settings_.user;
  const std::int64_t end = progress.ended_ns != 0 ? progress.ended_ns : wall_now_ns();
  Json tasks = Json::array();
  for (int i = 0; i < job.nodes; ++i) tasks.push_back(fmt::format("worker-{}", i));
  const std::string_view phase = stage_name(progress.stage).v2;
  out["status"] = {
      {"phase", phase},
      {"secondary_phase", progress.stage == JobStage::pending ? "Queuing"
                          : progress.stage == JobStage::lost  ? "Lost"
                                                              : phase},
      {"duration", progress.started_ns == 0 ? 0 : (end - progress.started_ns) / 1'000'000},
      {"start_time", progress.started_ns / 1'000'000},
      {"node_count_metrics", nullptr},
      {"tasks", tasks}};
  if (!progress.tasks.empty()) {
    Json ends = Json::array();
    for (std::size_t i = 0; i < progress.tasks.size(); ++i)
      ends.push_back({{"task", fmt::format("worker-{}", i)},
                      {"exit_code", progress.tasks[i].exit_code},
                      {"message", progress.tasks[i].message}});
    out["status"]["task_statuses"] = ends;
  }
  if (progress.restarts > 0)
    out["status"]["running_records"] =
        Json::array({{{"start_at", progress.started_ns / 1'000'000'000},
                      {"start_type", "init_or_rescheduled"},
                      {"end_reason", "preempted"},
                      {"end_recover", "job_reschedule"}}});
  return out;
}

ServerResponse ModelArtsService::search(const ServerRequest& request) {
  const Json body = parse_json_or_null(request.body);
  if (!body.is_object()) return modelarts_error(400, "ModelArts.2787", "The body is not JSON.");
  const int offset = body.value("offset", 0);
  const int limit = body.value("limit", 10);
  if (limit < 1 || limit > 50)
    return modelarts_error(400, "ModelArts.2788", "limit must be 1 to 50");
  std::vector<Json> found;
  for (const auto& job : jobs_) {
    Json description = describe(job);
    const Json filters = body.value("filters", Json::array());
    if (std::all_of(filters.begin(), filters.end(),
                    [&](const Json& f) { return passes(f, description); }))
      found.push_back(std::move(description));
  }
  if (body.value("order", "desc") == "desc") std::reverse(found.begin(), found.end());
  Json items = Json::array();
  for (std::size_t i = static_cast<std::size_t>(offset);
       i < found.size() && items.size() < static_cast<std::size_t>(limit); ++i)
    items.push_back(found[i]);
  return json_reply(200, {{"total", found.size()},
                          {"count", items.size()},
                          {"limit", limit},
                          {"offset", offset},
                          {"sort_by", "create_time"},
                          {"order", body.value("order", "desc")},
                          {"items", items}});
}

ServerResponse ModelArtsService::job_operation(const ServerRequest& request, const Job& job,
                                               const Path& path) {
  const std::string& method = request.method;
  if (path.size() == 2) {
    if (method == "GET") return json_reply(200, describe(job));
    if (method == "DELETE") {
      runner_->stop(job.id);
      std::erase_if(jobs_, [id = job.id](const Job& other) { return other.id == id; });
      return json_reply(202, "");
    }
  }
  if (path.size() == 3 && path[2] == "actions" && method == "POST") return terminate(request, job);
  if (path.size() == 3 && path[2] == "events" && method == "GET") return events(request, job);
  if (path.size() >= 4 && method == "GET") return task_operation(request, job, path);
  return modelarts_error(404, "APIGW.0101", "The API does not exist");
}

ServerResponse ModelArtsService::terminate(const ServerRequest& request, const Job& job) {
  if (text_at(parse_json_or_null(request.body), "action_type") != "terminate")
    return modelarts_error(400, "ModelArts.2812", "The action type is not supported.");
  const JobStage stage = runner_->progress(job.id).stage;
  if (stage != JobStage::pending && stage != JobStage::running)
    return modelarts_error(409, "ModelArts.2796", "The job's status does not allow this.");
  runner_->stop(job.id);
  Json out = describe(job);
  out["status"]["phase"] = "Terminating";
  return json_reply(202, out);
}

ServerResponse ModelArtsService::events(const ServerRequest& request, const Job& job) {
  const JobProgress progress = runner_->progress(job.id);
  Json all = Json::array();
  const auto add = [&](std::int64_t ms, const std::string& message) {
    all.push_back({{"time", ms}, {"level", "Info"}, {"message", message}, {"source", "job"}});
  };
  add(job.created_ms, "[Job] Training job created.");
  if (progress.started_ns != 0) add(progress.started_ns / 1'000'000, "[Job] Training job running.");
  if (progress.ended_ns != 0)
    add(progress.ended_ns / 1'000'000,
        fmt::format("[Job] Training job {}.", stage_name(progress.stage).v2));
  const int offset = request.number("offset", 0);
  const int limit = std::clamp(request.number("limit", 50), 1, 100);
  Json page = Json::array();
  for (std::size_t i = static_cast<std::size_t>(offset);
       i < all.size() && page.size() < static_cast<std::size_t>(limit); ++i)
    page.push_back(all[i]);
  return json_reply(200, {{"total", all.size()},
                          {"limit", limit},
                          {"offset", offset},
                          {"order", "asc"},
                          {"events", page}});
}

ServerResponse ModelArtsService::task_operation(const ServerRequest& request, const Job& job,
                                                const Path& path) {
  const bool metrics = path[2] == "metrics" && path.size() == 4;
  const bool logs = path[2] == "tasks" && path.size() == 6 && path[4] == "logs";
  if (!metrics && !logs) return modelarts_error(404, "APIGW.0101", "The API does not exist");
  const std::string_view task = path[3];
  const int index =
      task.starts_with("worker-") ? parse_number<int>(task.substr(7)).value_or(-1) : -1;
  if (index < 0 || index >= job.nodes)
    return modelarts_error(400, "ModelArts.2788", "There is no such task.");
  const bool started = runner_->progress(job.id).started_ns != 0;
  if (!started) {
    ServerResponse not_ready;
    not_ready.status = 204;
    return not_ready;
  }
  if (metrics)
    return json_reply(200, {{"metrics",
                             {{{"metric", "cpuUsage"}, {"value", {50.5, -1}}},
                              {{"metric", "npuUtil"}, {"value", {97.25, -1}}}}}});
  const std::string content = runner_->log(job.id, index);
  if (path[5] == "preview") {
    constexpr std::size_t kMaxPreview = 5 << 20;
    const std::string tail =
        content.size() > kMaxPreview ? content.substr(content.size() - kMaxPreview) : content;
    return json_reply(
        200, {{"content", tail}, {"current_size", tail.size()}, {"full_size", content.size()}});
  }
  const auto [bucket, prefix] =
      split_obs_path(text_at_path(job.body, "spec/log_export_path/obs_url"));
  if (bucket.empty())
    return modelarts_error(400, "ModelArts.2822", "The log export path is not set.");
  const std::string key = fmt::format("{}modelarts-job-{}-{}.log", prefix, job.id, task);
  if (!settings_.run_jobs) store_.put_text(bucket, key, content);
  return json_reply(
      200,
      {{"obs_url", fmt::format("http://{}/{}/{}?{}", request.header("host"), bucket,
                               http::percent_encode(key, true),
                               http::encode_query(accounts_.sign_url("GET", bucket, key, 300)))}});
}

}  // namespace assay::emulator
