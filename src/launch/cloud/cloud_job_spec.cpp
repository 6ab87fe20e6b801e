#include "launch/cloud/cloud_job_spec.h"

#include <fmt/format.h>

#include "cloud/sync.h"
#include "core/error.h"
#include "core/text.h"

namespace assay::launch {

std::string job_name(const plan::ModelArtsOptions& options, const plan::Plan& plan,
                     const plan::CasePlan& plan_case, int round, int attempt) {
  std::size_t index = 0;
  while (index < plan.cases.size() && plan.cases[index].name != plan_case.name) ++index;
  std::string id = plan.run_id;
  if (id.starts_with("run")) id.erase(0, 3);
  const std::string again = attempt > 0 ? fmt::format("-a{}", attempt) : "";
  return fmt::format("{}-{}-c{}-r{}{}", options.job_name, id, index, round, again);
}

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

cloud::TrainingJobSpec job_spec(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                const std::string& name, const std::string& code_hash) {
  const plan::ModelArtsOptions& options = std::get<plan::ModelArtsOptions>(plan.cluster.options);
  const std::string root = "/" + options.bucket + "/";
  const std::string own = root + options.round_prefix(plan.run_id, name);
  cloud::TrainingJobSpec spec;
  spec.name = name;
  spec.description = "assay " + plan.run_id;
  spec.code_dir = root + options.code_prefix(code_hash);
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
  spec.outputs = {{options.output, own + "out/"}};
  if (!options.v1()) {
    spec.environment = plan_case.env;
    if (options.single_server) spec.environment["SINGLESERVER_MODE"] = "True";
  }
  spec.flavor_id = options.flavor;
  spec.pool_id = options.pool;
  spec.workspace_id = options.workspace;
  spec.node_count = plan_case.nodes;
  if (!spec.image_url.empty()) spec.command = image_command(spec, code_hash);
  for (const plan::CloudVolume& volume : options.volumes)
    spec.volumes.push_back({volume.server, volume.path, volume.read_only});
  spec.log_url = own + "log/";
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

Json describe_cloud_execution(const plan::Plan& plan) {
  const plan::ModelArtsOptions& options = std::get<plan::ModelArtsOptions>(plan.cluster.options);
  std::string code_hash = "SHA256-OF-THE-CODE";
  try {
    if (!options.v1()) code_hash = cloud::hash_of(cloud::files_of(options.code));
  } catch (const Error&) {  // the run itself says what is wrong with the folder
  }
  Json jobs = Json::array();
  for (const plan::CasePlan& plan_case : plan.cases)
    for (int round = 1; round <= plan_case.rounds(); ++round) {
      const cloud::TrainingJobSpec spec =
          job_spec(plan, plan_case, job_name(options, plan, plan_case, round, 0), code_hash);
      cloud::check(spec);
      Json job{{"case", plan_case.name}, {"round", round}, {"body", cloud::to_json(spec)}};
      if (const auto exported = pre_start_environment(options, plan_case); !exported.empty())
        job["exported_in_ma_pre_start"] = exported;
      jobs.push_back(std::move(job));
    }
  return {{"endpoint", options.endpoint},
          {"api", options.v1() ? "v1, bodies shown as v2 would have them" : "v2"},
          {"obs_endpoint", options.obs_endpoint},
          {"project", options.project},
          {"upload",
           {{"folder", options.code.string()},
            {"to", "obs://" + options.bucket + "/" + options.code_prefix(code_hash)}}},
          {"jobs", std::move(jobs)}};
}

}  // namespace assay::launch
