#include "launch/modelarts/modelarts_rounds.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "launch/cloud/cloud_backend.h"
#include "launch/modelarts/pre_start.h"
#include "launch/modelarts/training_job_spec.h"

namespace assay::launch {

void ModelArtsRounds::check_cases(const plan::Plan& plan) const {
  for (const plan::CasePlan& plan_case : plan.cases) {
    const std::filesystem::path boot = options_.code / plan_case.command.at(0);
    std::error_code ec;
    if (!std::filesystem::is_regular_file(boot, ec))
      throw Error(ErrorKind::config, "there is no boot file '" + plan_case.command.at(0) + "'",
                  options_.code.string(),
                  "the first word of the case's command is a file in cluster.modelarts.code");
    need_uploaded(options_, plan_case.command.at(0));
    // The code is not read yet; its hash is as long as this.
    cloud::check(training_job_spec(
        options_, round_job(options_, plan, plan_case, job_name(options_, plan, plan_case, 1, 0),
                            std::string(64, '0'))));
  }
}

Json ModelArtsRounds::check(const plan::Plan& plan, const std::stop_token& stop) {
  check_engine(plan, stop);
  return check_flavor(plan, stop);
}

void ModelArtsRounds::check_engine(const plan::Plan& plan, const std::stop_token& stop) {
  const std::string& wanted = options_.engine;
  if (wanted.starts_with("image:")) return;  // of one's own: the service does not list them
  const std::vector<std::string> known = jobs_->engines(stop);
  if (std::ranges::find(known, wanted) == known.end())
    throw Error(ErrorKind::config, "there is no engine '" + wanted + "'", plan.suite_file,
                "there are: " + join(known, ", "));
}

/// The flavor's devices decide how many ranks an instance has.
Json ModelArtsRounds::check_flavor(const plan::Plan& plan, const std::stop_token& stop) {
  const std::string& wanted = options_.flavor;
  if (wanted.empty()) return Json::object();
  std::string known;
  for (const cloud::Flavor& flavor : jobs_->flavors(stop)) {
    known += (known.empty() ? "" : ", ") + flavor.id;
    if (flavor.id != wanted) continue;
    for (const plan::CasePlan& plan_case : plan.cases)
      if (plan_case.procs != std::max(1, flavor.devices))
        throw Error(ErrorKind::config,
                    fmt::format("the case '{}' has procs: {}, but the flavor '{}' has {} devices",
                                plan_case.name, plan_case.procs, wanted, flavor.devices),
                    plan.suite_file,
                    fmt::format("procs: {}: one rank for every device of an instance",
                                std::max(1, flavor.devices)));
    return {{"flavor", flavor.id},
            {"name", flavor.name},
            {"devices", flavor.devices},
            {"product", flavor.product}};
  }
  throw Error(ErrorKind::config, "there is no flavor '" + wanted + "'", plan.suite_file,
              "there are: " + known);
}

cloud::FolderFiles ModelArtsRounds::code_files(const std::filesystem::path& folder,
                                               const plan::CasePlan& plan_case,
                                               const std::filesystem::path& scratch) const {
  cloud::FolderFiles files = code_of(options_).files;
  if (!options_.v1()) return files;
  const std::string name =
      (std::filesystem::path(plan_case.command.at(0)).parent_path() / "ma-pre-start.sh")
          .generic_string();
  const auto script = pre_start_script(read_regular_file_or_empty(folder / name),
                                       pre_start_environment(options_, plan_case));
  if (script) {
    files[name] = scratch / "ma-pre-start.sh";
    write_file_atomic(files[name], *script, /*sync=*/false);
  }
  return files;
}

Executed ModelArtsRounds::executed(const RoundJob& job) const {
  const cloud::TrainingJobSpec spec = training_job_spec(options_, job);
  return {spec.image_url.empty() ? spec.engine_id : spec.image_url, spec.boot_file,
          spec.environment};
}

ServiceJob ModelArtsRounds::common(const cloud::TrainingJob& job) const {
  ServiceJob out{job.id,
                 job.phase,
                 job.phase_text,
                 /*taken=*/job.phase_text == "Abnormal" || job.phase_text == "JOBSTAT_LOST",
                 job.message,
                 job.created_ms,
                 job.started_ms,
                 job.duration_ms};
  // Read tolerantly: the old interface has a number for its status, and no tasks.
  for (const auto& task : list_at(object_at(job.raw, "status"), "task_statuses")) {
    const std::string name = any_text_at(task, "task");
    if (!name.starts_with("worker-")) continue;
    if (const auto instance = parse_number<int>(std::string_view(name).substr(7)))
      out.exit_codes[*instance] = any_integer_at(task, "exit_code");
  }
  out.log_name = jobs_->log_name(job);
  return out;
}

std::optional<ServiceJob> ModelArtsRounds::find(const RoundJob& job, const std::stop_token& stop) {
  const auto found = jobs_->find(training_job_spec(options_, job), stop);
  return found ? std::optional(common(*found)) : std::nullopt;
}

ServiceJob ModelArtsRounds::create(const RoundJob& job, const std::stop_token& stop) {
  return common(jobs_->create(training_job_spec(options_, job), stop));
}

ServiceJob ModelArtsRounds::get(const std::string& id, const std::stop_token& stop) {
  return common(jobs_->get(id, stop));
}

void ModelArtsRounds::stop(const std::string& id, const std::stop_token& stop) {
  jobs_->stop(id, stop);
}

std::map<int, std::uint64_t> ModelArtsRounds::log_sizes(const RoundJob& job, const ServiceJob& seen,
                                                        const std::stop_token& stop) {
  std::map<int, std::uint64_t> sizes;
  if (seen.log_name.empty()) return sizes;
  const std::string start = job.log + seen.log_name;
  for (const cloud::ObjectInfo& log : bucket_.list(start, stop)) {
    std::string_view rest = std::string_view(log.key).substr(start.size());
    if (!rest.ends_with(".log")) continue;
    rest.remove_suffix(4);
    if (const auto instance = parse_number<int>(rest)) sizes[*instance] = log.size;
  }
  return sizes;
}

std::string ModelArtsRounds::read_log(const RoundJob& job, const ServiceJob& seen, int instance,
                                      std::uint64_t offset, std::uint64_t size,
                                      const std::stop_token& stop) {
  return bucket_.get(fmt::format("{}{}{}.log", job.log, seen.log_name, instance), offset, size,
                     stop);
}

std::optional<double> ModelArtsRounds::device_utilization(const std::string& id, int instances,
                                                          const std::stop_token& stop) {
  if (!options_.ais_results()) return std::nullopt;
  double sum = 0;
  std::size_t count = 0;
  for (int instance = 0; instance < instances; ++instance)
    for (const cloud::TaskMetric& metric : jobs_->metrics(id, worker_name(instance), stop)) {
      if (metric.name != "npuUtil" && metric.name != "gpuUtil") continue;
      for (const double value : metric.values) {
        if (!std::isfinite(value)) continue;
        sum += value;
        ++count;
      }
    }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

namespace {

Connect connect_to(const plan::ModelArtsOptions& options) {
  return [&options](Nanoseconds answer_limit) {
    return std::make_unique<CloudConnection>(
        options, read_transfer_settings(options.credentials).within(answer_limit),
        credential_source(options.credentials),
        [&options](http::Client& client, cloud::CredentialSource& credentials,
                   cloud::ObsBucket& bucket) {
          return std::make_unique<ModelArtsRounds>(
              options, make_modelarts_jobs(options, client, credentials), bucket);
        });
  };
}

}  // namespace

}  // namespace assay::launch

namespace assay::plan {

std::unique_ptr<launch::Backend> ModelArtsOptions::make_backend(
    const launch::BackendContext& context) const {
  return std::make_unique<launch::CloudBackend>(context, *this, launch::connect_to(*this));
}

Json ModelArtsOptions::describe_jobs(const Plan& plan) const {
  return launch::describe_training_jobs(*this, plan);
}

Json ModelArtsOptions::check_jobs(const Plan& plan,
                                  const std::function<void(const std::string&)>& waiting) const {
  Json found = launch::check_cloud(launch::connect_to(*this), plan, *this, {}, waiting);
  found["endpoint"] = endpoint;
  found["bucket"] = bucket;
  found["engine"] = engine;
  return found;
}

}  // namespace assay::plan
