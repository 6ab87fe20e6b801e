#include "launch/modelarts/modelarts_jobs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "cloud/training_jobs_v1.h"
#include "core/json_access.h"
#include "core/parse_number.h"

namespace assay::launch {

namespace {

class ServiceV2 final : public ModelArtsJobs {
 public:
  ServiceV2(http::Client& client, cloud::CredentialSource& credentials,
            const plan::ModelArtsOptions& options)
      : connection_(client, credentials, options.endpoint, options.project) {}

  std::optional<cloud::TrainingJob> find(const cloud::TrainingJobSpec& spec,
                                         const std::stop_token& stop) override {
    return jobs_.find(spec.name, stop);
  }
  cloud::TrainingJob create(const cloud::TrainingJobSpec& spec,
                            const std::stop_token& stop) override {
    return jobs_.create(spec, stop);
  }
  cloud::TrainingJob get(const std::string& id, const std::stop_token& stop) override {
    return jobs_.get(id, stop);
  }
  void stop(const std::string& id, const std::stop_token& stop) override {
    (void)jobs_.stop(id, stop);
  }
  std::string log_name(const cloud::TrainingJob& job) const override {
    return "modelarts-job-" + job.id + "-worker-";
  }
  std::vector<cloud::Flavor> flavors(const std::stop_token& stop) override {
    return jobs_.flavors(stop);
  }
  std::vector<std::string> engines(const std::stop_token& stop) override {
    std::vector<std::string> out;
    for (const cloud::Engine& engine : jobs_.engines(stop)) out.push_back(engine.id);
    return out;
  }
  std::optional<cloud::TrainingJob> newest(const std::string& job_name,
                                           const std::stop_token& stop) override {
    for (const cloud::TrainingJob& job : jobs_.list(job_name, 1000, stop))
      if (job.name.starts_with(job_name + "-")) return job;
    return std::nullopt;
  }
  std::vector<cloud::TaskMetric> metrics(const std::string& id, const std::string& task,
                                         const std::stop_token& stop) override {
    return jobs_.metrics(id, task, stop);
  }

 private:
  cloud::ModelArtsService connection_;
  cloud::TrainingJobs jobs_{connection_};
};

class ServiceV1 final : public ModelArtsJobs {
 public:
  ServiceV1(http::Client& client, cloud::CredentialSource& credentials,
            const plan::ModelArtsOptions& options)
      : connection_(client, credentials, options.endpoint, options.project),
        job_name_(options.job_name) {
    const std::size_t slash = options.engine.find('/');
    engine_name_ = options.engine.substr(0, slash);
    engine_version_ = slash == std::string::npos ? "" : options.engine.substr(slash + 1);
  }

  std::optional<cloud::TrainingJob> find(const cloud::TrainingJobSpec& spec,
                                         const std::stop_token& stop) override {
    const auto job = jobs_.find(job_name_, stop);
    if (!job) return std::nullopt;
    for (const cloud::OldJob& version : jobs_.versions(job->job_id, stop))
      if (any_text_at(version.raw, "train_url") == spec.outputs.at(0).obs_url)
        return common(jobs_.get(job->job_id, version.version_id, stop));
    return std::nullopt;
  }

  cloud::TrainingJob create(const cloud::TrainingJobSpec& spec,
                            const std::stop_token& stop) override {
    cloud::OldJobSpec old;
    old.name = job_name_;
    old.description = spec.name;
    old.code_dir = spec.code_dir;
    old.boot_file = spec.boot_file;
    old.parameters = spec.parameters;
    if (!spec.inputs.empty()) old.data_url = spec.inputs[0].obs_url;
    old.train_url = spec.outputs.at(0).obs_url;
    old.log_url = spec.log_url;
    old.spec_code = spec.flavor_id;
    old.pool_id = spec.pool_id;
    old.engine_name = engine_name_;
    old.engine_version = engine_version_;
    old.node_count = spec.node_count;
    old.volumes = spec.volumes;
    return common(jobs_.create(old, stop));
  }

  cloud::TrainingJob get(const std::string& id, const std::stop_token& stop) override {
    const auto [job, version] = parts(id);
    return common(jobs_.get(job, version, stop));
  }

  void stop(const std::string& id, const std::stop_token& stop) override {
    const auto [job, version] = parts(id);
    try {
      jobs_.stop(job, version, stop);
    } catch (const cloud::ServiceError&) {  // it is refused for what has ended
      if (!cloud::has_ended(jobs_.get(job, version, stop).phase)) throw;
    }
  }

  std::string log_name(const cloud::TrainingJob& job) const override {
    const std::string resource = any_text_at(job.raw, "resource_id");
    return resource.empty() ? "" : fmt::format("{}-job-{}-", resource, job_name_);
  }

  std::vector<std::string> engines(const std::stop_token& stop) override {
    std::vector<std::string> out;
    for (const cloud::OldEngine& engine : jobs_.engines(stop))
      out.push_back(engine.name + "/" + engine.version);
    return out;
  }

  std::optional<cloud::TrainingJob> newest(const std::string& job_name,
                                           const std::stop_token& stop) override {
    const auto job = jobs_.find(job_name, stop);
    if (!job) return std::nullopt;
    return common(jobs_.get(job->job_id, job->version_id, stop));
  }

  std::vector<cloud::Flavor> flavors(const std::stop_token& stop) override {
    std::vector<cloud::Flavor> out;
    for (const cloud::OldFlavor& old : jobs_.flavors(stop)) {
      cloud::Flavor flavor;
      flavor.id = flavor.name = old.spec_code;
      flavor.devices = old.devices;
      flavor.max_nodes = old.max_nodes;
      out.push_back(std::move(flavor));
    }
    return out;
  }

  std::vector<cloud::TaskMetric> metrics(const std::string& /*id*/, const std::string& /*task*/,
                                         const std::stop_token& /*stop*/) override {
    return {};
  }

 private:
  /// "3043/13231".
  static std::pair<std::int64_t, std::int64_t> parts(const std::string& id) {
    const std::string_view text = id;
    const std::size_t slash = std::min(id.find('/'), id.size() - 1);
    return {parse_number<std::int64_t>(text.substr(0, slash)).value_or(0),
            parse_number<std::int64_t>(text.substr(slash + 1)).value_or(0)};
  }

  static cloud::TrainingJob common(const cloud::OldJob& old) {
    cloud::TrainingJob job;
    job.id = fmt::format("{}/{}", old.job_id, old.version_id);
    job.name = old.job_name + " " + old.version_name;
    job.phase = old.phase;
    job.phase_text = cloud::v1_status_name(old.status);
    job.created_ms = old.created_ms;
    job.duration_ms = old.duration_ms;
    job.started_ms = any_integer_at(old.raw, "start_time");
    if (job.started_ms == 0 && (old.duration_ms > 0 || old.phase == cloud::JobPhase::running))
      job.started_ms = old.created_ms;
    job.raw = old.raw;
    return job;
  }

  cloud::ModelArtsService connection_;
  cloud::OldTrainingJobs jobs_{connection_};
  std::string job_name_;
  std::string engine_name_;
  std::string engine_version_;
};

}  // namespace

std::unique_ptr<ModelArtsJobs> make_modelarts_jobs(const plan::ModelArtsOptions& options,
                                                   http::Client& client,
                                                   cloud::CredentialSource& credentials) {
  if (options.v1()) return std::make_unique<ServiceV1>(client, credentials, options);
  return std::make_unique<ServiceV2>(client, credentials, options);
}

}  // namespace assay::launch
