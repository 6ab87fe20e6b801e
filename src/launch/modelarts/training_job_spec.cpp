#include "launch/modelarts/training_job_spec.h"

#include <fmt/format.h>

#include "core/text.h"

namespace assay::launch {

namespace {

constexpr std::string_view kImage = "image:";  // an engine that is an image of one's own

/// An image of one's own has no boot file and no parameters: the service runs a command in it. Code
/// is in a folder with the last name of its place, inputs and outputs where the service mounts
/// them.
std::string image_command(const cloud::TrainingJobSpec& spec, const std::string& code_hash) {
  const std::string boot = spec.boot_file.substr(spec.code_dir.size());
  std::string out = fmt::format("cd \"$MA_JOB_DIR\"/{} && exec {} {}", code_hash,
                                boot.ends_with(".py") ? "python3" : "bash", shell_quote(boot));
  const auto folder = [&](const char* kind, const cloud::DataLink& link) {
    out += fmt::format(" --{0}=\"$MA_MOUNT_PATH\"/{1}/{0}_0", link.name, kind);
  };
  for (const cloud::DataLink& link : spec.inputs) folder("inputs", link);
  for (const cloud::DataLink& link : spec.outputs) folder("outputs", link);
  for (const auto& [name, value] : spec.parameters)
    out += " " + shell_quote("--" + name + "=" + value);
  return out;
}

}  // namespace

cloud::TrainingJobSpec training_job_spec(const plan::ModelArtsOptions& options,
                                         const RoundJob& job) {
  const plan::CasePlan& plan_case = job.plan_case;
  const std::string root = "/" + options.bucket + "/";
  cloud::TrainingJobSpec spec;
  spec.name = job.name;
  spec.description = "assay " + job.run_id;
  spec.code_dir = root + job.code;
  spec.boot_file = spec.code_dir + plan_case.command.at(0);
  if (options.engine.starts_with(kImage))
    spec.image_url = options.engine.substr(kImage.size());
  else
    spec.engine_id = options.engine;
  for (std::size_t i = 1; i < plan_case.command.size(); ++i) {
    const std::string& word = plan_case.command[i];  // --NAME=VALUE
    const std::size_t equals = word.find('=');
    spec.parameters.emplace_back(word.substr(2, equals - 2), word.substr(equals + 1));
  }
  for (const auto& [parameter, folder] : options.inputs) spec.inputs.push_back({parameter, folder});
  spec.outputs = {{options.output, root + job.output}};
  if (!options.v1()) {
    spec.environment = plan_case.env;
    if (options.single_server) spec.environment["SINGLESERVER_MODE"] = "True";
  }
  spec.flavor_id = options.flavor;
  spec.pool_id = options.pool;
  spec.workspace_id = options.workspace;
  spec.node_count = plan_case.nodes;
  if (!spec.image_url.empty()) spec.command = image_command(spec, job.code_hash);
  for (const plan::CloudVolume& volume : options.volumes)
    spec.volumes.push_back({volume.server, volume.path, volume.read_only});
  spec.log_url = root + job.log;
  spec.auto_stop_hours = options.auto_stop_h;
  return spec;
}

std::map<std::string, std::string> pre_start_environment(const plan::ModelArtsOptions& options,
                                                         const plan::CasePlan& plan_case) {
  if (!options.v1()) return {};
  std::map<std::string, std::string> out = plan_case.env;
  if (options.single_server) out["SINGLESERVER_MODE"] = "True";
  return out;
}

Json describe_training_jobs(const plan::ModelArtsOptions& options, const plan::Plan& plan) {
  // What v1's code is depends on the case.
  const std::string hash = options.v1() ? "SHA256-OF-THE-CODE" : code_hash_or_words(options);
  Json out{{"endpoint", options.endpoint},
           {"api", options.v1() ? "v1, bodies shown as v2 would have them" : "v2"},
           {"obs_endpoint", options.store_endpoint},
           {"project", options.project}};
  out.update(describe_rounds(options, plan, hash, [&](const RoundJob& job) {
    const cloud::TrainingJobSpec spec = training_job_spec(options, job);
    cloud::check(spec);
    Json described{{"body", cloud::to_json(spec)}};
    if (const auto exported = pre_start_environment(options, job.plan_case); !exported.empty())
      described["exported_in_ma_pre_start"] = exported;
    return described;
  }));
  return out;
}

}  // namespace assay::launch
