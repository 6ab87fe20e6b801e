#include "launch/modelarts/cloud_job_spec.h"

#include <fmt/format.h>

#include "cloud/sync.h"
#include "core/error.h"

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

cloud::TrainingJobSpec job_spec(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                const std::string& name, const std::string& code_hash) {
  const auto& options = std::get<plan::ModelArtsOptions>(plan.cluster.options);
  const std::string root = "/" + options.bucket + "/";
  const std::string own = root + options.round_prefix(plan.run_id, name);
  cloud::TrainingJobSpec spec;
  spec.name = name;
  spec.description = "assay " + plan.run_id;
  spec.code_dir = root + options.code_prefix(code_hash);
  spec.boot_file = spec.code_dir + plan_case.command.at(0);
  spec.engine_id = options.engine;
  for (std::size_t i = 1; i < plan_case.command.size(); ++i) {
    const std::string& word = plan_case.command[i];  // --NAME=VALUE
    const std::size_t equals = word.find('=');
    spec.parameters.emplace_back(word.substr(2, equals - 2), word.substr(equals + 1));
  }
  for (const auto& [parameter, folder] : options.inputs) spec.inputs.push_back({parameter, folder});
  spec.outputs = {{options.output, own + "out/"}};
  spec.environment = plan_case.env;
  // The old interface has no environment: ma-pre-start.sh sets it there.
  if (options.single_server && !options.v1()) spec.environment["SINGLESERVER_MODE"] = "True";
  spec.flavor_id = options.flavor;
  spec.pool_id = options.pool;
  spec.workspace_id = options.workspace;
  spec.node_count = plan_case.nodes;
  for (const plan::CloudVolume& volume : options.volumes)
    spec.volumes.push_back({volume.server, volume.path, volume.read_only});
  spec.log_url = own + "log/";
  spec.auto_stop_hours = options.auto_stop_h;
  return spec;
}

Json describe_cloud_execution(const plan::Plan& plan) {
  const auto& options = std::get<plan::ModelArtsOptions>(plan.cluster.options);
  std::string code_hash = "SHA256-OF-THE-CODE";
  try {
    code_hash = cloud::folder_hash(options.code);
  } catch (const Error&) {  // the run itself says what is wrong with the folder
  }
  Json jobs = Json::array();
  for (const plan::CasePlan& plan_case : plan.cases)
    for (int round = 1; round <= plan_case.rounds(); ++round) {
      const cloud::TrainingJobSpec spec =
          job_spec(plan, plan_case, job_name(options, plan, plan_case, round, 0), code_hash);
      cloud::check(spec);
      jobs.push_back({{"case", plan_case.name}, {"round", round}, {"body", cloud::to_json(spec)}});
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
