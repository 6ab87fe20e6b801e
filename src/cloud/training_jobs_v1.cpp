#include "cloud/training_jobs_v1.h"

#include <algorithm>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "core/error.h"
#include "core/json_access.h"
#include "core/text.h"

namespace assay::cloud {

namespace {

constexpr int kVersion1Page = 100;

std::string version_path(std::int64_t job, std::int64_t version) {
  return fmt::format("/training-jobs/{}/versions/{}", job, version);
}

http::Query page_query(int page) {
  return {{"per_page", fmt::format("{}", kVersion1Page)}, {"page", fmt::format("{}", page)}};
}

}  // namespace

OldJob old_job_from_json(const Json& json) {
  OldJob job;
  job.job_id = any_integer_at(json, "job_id");
  job.job_name = any_text_at(json, "job_name");
  job.version_id = any_integer_at(json, "version_id");
  job.version_name = any_text_at(json, "version_name");
  job.resource_id = any_text_at(json, "resource_id");
  job.status = static_cast<int>(any_integer_at(json, "status"));
  job.phase = phase_from_v1(job.status);
  job.created_ms = any_integer_at(json, "create_time");
  job.duration_ms = any_integer_at(json, "duration");
  job.raw = json;
  return job;
}

Json OldTrainingJobs::config_of(const OldJobSpec& spec, const std::stop_token& stop) {
  Json config;
  config["worker_server_num"] = spec.node_count;
  config["app_url"] = spec.code_dir;
  config["boot_file_url"] = spec.boot_file;
  config["parameter"] = Json::array();
  for (const auto& [label, value] : spec.parameters)
    config["parameter"].push_back({{"label", label}, {"value", value}});
  if (!spec.data_url.empty()) config["data_url"] = spec.data_url;
  config["train_url"] = spec.train_url;
  if (!spec.log_url.empty()) config["log_url"] = spec.log_url;
  if (!spec.pool_id.empty()) {
    config["pool_id"] = spec.pool_id;
  } else {
    std::vector<std::string> known;
    for (const auto& flavor : flavors(stop)) {
      known.push_back(flavor.spec_code);
      if (flavor.spec_code == spec.spec_code) config["spec_id"] = flavor.spec_id;
    }
    if (!config.contains("spec_id"))
      throw Error(ErrorKind::config, fmt::format("there is no flavor '{}'", spec.spec_code),
                  service_.host(), "there are: " + join(known, ", "));
  }
  std::vector<std::string> known;
  for (const auto& engine : engines(stop)) {
    known.push_back(engine.name + " " + engine.version);
    if (engine.name == spec.engine_name && engine.version == spec.engine_version)
      config["engine_id"] = engine.engine_id;
  }
  if (!config.contains("engine_id"))
    throw Error(ErrorKind::config,
                fmt::format("there is no engine '{} {}'", spec.engine_name, spec.engine_version),
                service_.host(), "there are: " + join(known, ", "));
  for (const auto& volume : spec.volumes)
    config["volumes"].push_back({{"nfs",
                                  {{"src_path", volume.server_path},
                                   {"dest_path", volume.local_path},
                                   {"read_only", volume.read_only}}}});
  config["create_version"] = true;
  return config;
}

OldJob OldTrainingJobs::create(const OldJobSpec& spec, const std::stop_token& stop) {
  Json config = config_of(spec, stop);
  const std::optional<OldJob> before = find(spec.name, stop);
  try {
    Json body;
    body["job_desc"] = spec.description;
    std::string path = "/training-jobs";
    if (before) {
      config["pre_version_id"] = before->version_id;
      path += fmt::format("/{}/versions", before->job_id);
    } else {
      body["job_name"] = spec.name;
    }
    body["config"] = config;
    OldJob job = old_job_from_json(service_.call("POST", "v1", path, {}, body, false, stop));
    // The answer for a version lacks some fields, including the logs' names.
    if (job.resource_id.empty()) job = get(job.job_id, job.version_id, stop);
    return job;
  } catch (const ServiceError& e) {
    if (e.status() < 500) throw;
    const auto now = find(spec.name, stop);
    if (now && (!before || now->version_id != before->version_id))
      return get(now->job_id, now->version_id, stop);
    throw;
  } catch (const Error&) {
    // Done even if the caller asked to stop, because it must learn of a running job.
    const auto now = find(spec.name, stop.stop_requested() ? std::stop_token() : stop);
    if (now && (!before || now->version_id != before->version_id)) return *now;
    throw;
  }
}

std::optional<OldJob> OldTrainingJobs::find(const std::string& name, const std::stop_token& stop) {
  std::int64_t seen = 0;
  for (int page = 1;; ++page) {
    http::Query query = page_query(page);
    query.emplace_back("search_content", name);
    const Json answer = service_.call("GET", "v1", "/training-jobs", query, {}, {}, stop);
    const Json& jobs = list_at(answer, "jobs");
    for (const auto& item : jobs)
      if (any_text_at(item, "job_name") == name) return old_job_from_json(item);
    seen += static_cast<std::int64_t>(jobs.size());
    if (jobs.empty() || seen >= any_integer_at(answer, "job_total_count")) return std::nullopt;
  }
}

OldJob OldTrainingJobs::get(std::int64_t job, std::int64_t version, const std::stop_token& stop) {
  return old_job_from_json(
      service_.call("GET", "v1", version_path(job, version), {}, {}, {}, stop));
}

std::vector<OldJob> OldTrainingJobs::versions(std::int64_t job, const std::stop_token& stop) {
  std::vector<OldJob> out;
  for (int page = 1;; ++page) {
    const Json answer = service_.call("GET", "v1", fmt::format("/training-jobs/{}/versions", job),
                                      page_query(page), {}, {}, stop);
    const Json& items = list_at(answer, "versions");
    for (const auto& item : items) {
      OldJob version = old_job_from_json(item);
      version.job_id = job;
      if (version.job_name.empty()) version.job_name = any_text_at(answer, "job_name");
      out.push_back(std::move(version));
    }
    if (items.empty() ||
        out.size() >= static_cast<std::size_t>(any_integer_at(answer, "version_count")))
      return out;
  }
}

void OldTrainingJobs::stop(std::int64_t job, std::int64_t version, const std::stop_token& stop) {
  (void)service_.call("POST", "v1", version_path(job, version) + "/stop", {}, {}, true, stop);
}

void OldTrainingJobs::remove(std::int64_t job, const std::stop_token& stop) {
  (void)service_.call("DELETE", "v1", fmt::format("/training-jobs/{}", job), {}, {}, {}, stop);
}

std::vector<std::string> OldTrainingJobs::log_files(std::int64_t job, std::int64_t version,
                                                    const std::stop_token& stop) {
  const Json answer =
      service_.call("GET", "v1", version_path(job, version) + "/log/file-names", {}, {}, {}, stop);
  std::vector<std::string> out;
  for (const auto& name : list_at(answer, "log_file_list"))
    if (name.is_string()) out.push_back(name.get<std::string>());
  return out;
}

OldLogPage OldTrainingJobs::log(std::int64_t job, std::int64_t version, const std::string& file,
                                std::int64_t line, const std::stop_token& stop) {
  const Json answer = service_.call("GET", "v1", version_path(job, version) + "/aom-log",
                                    {{"log_file", file},
                                     {"base_line", fmt::format("{}", line)},
                                     {"lines", "500"},
                                     {"order", "asc"}},
                                    {}, {}, stop);
  return {any_text_at(answer, "content"), any_integer_at(answer, "end_line", line)};
}

std::vector<OldFlavor> OldTrainingJobs::flavors(const std::stop_token& stop) {
  const Json answer =
      service_.call("GET", "v1", "/job/resource-specs", {{"job_type", "train"}}, {}, {}, stop);
  std::vector<OldFlavor> out;
  for (const auto& item : list_at(answer, "specs")) {
    const std::int64_t gpus = any_integer_at(item, "gpu_num");
    out.push_back({any_integer_at(item, "spec_id"), any_text_at(item, "spec_code"),
                   static_cast<int>(gpus > 0 ? gpus : any_integer_at(item, "unit_num")),
                   static_cast<int>(any_integer_at(item, "max_num"))});
  }
  return out;
}

std::vector<OldEngine> OldTrainingJobs::engines(const std::stop_token& stop) {
  const Json answer =
      service_.call("GET", "v1", "/job/ai-engines", {{"job_type", "train"}}, {}, {}, stop);
  std::vector<OldEngine> out;
  for (const auto& item : list_at(answer, "engines"))
    out.push_back({any_integer_at(item, "engine_id"), any_text_at(item, "engine_name"),
                   any_text_at(item, "engine_version")});
  return out;
}

}  // namespace assay::cloud
