#include "launch/modelarts/cloud_settings.h"

#include <cstdlib>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"

namespace assay::launch {

namespace {

constexpr const char* kAdvice =
    "set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, or name a file with access_key and secret_key "
    "as cluster.modelarts.credentials";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

CloudSettings cloud_settings(const plan::Cluster& cluster) {
  const Json& options = cluster.options;
  CloudSettings settings;
  settings.endpoint = options.value("endpoint", "");
  settings.obs_endpoint = options.value("obs_endpoint", "");
  settings.project = options.value("project", "");
  settings.bucket = options.value("bucket", "");
  settings.prefix = options.value("prefix", "");
  settings.code = options.value("code", "");
  settings.v1 = options.value("api", "") == "v1";
  settings.engine = options.value("engine", "");
  settings.job_name = options.value("job_name", "assay");
  settings.stop_on_interrupt = options.value("stop_on_interrupt", false);
  settings.single_server = options.value("single_server", false);
  settings.ais_results = options.value("results", "") == "ais-bench";
  settings.credentials = options.value("credentials", "");
  settings.wait = Nanoseconds(options.value("wait_ns", std::int64_t{0}));
  settings.poll = Nanoseconds(options.value("poll_ns", std::int64_t{0}));
  return settings;
}

cloud::Credentials read_credentials(const CloudSettings& settings) {
  cloud::Credentials found;
  if (settings.credentials.empty()) {
    found = {variable("HUAWEICLOUD_SDK_AK"), variable("HUAWEICLOUD_SDK_SK"),
             variable("HUAWEICLOUD_SDK_SECURITY_TOKEN")};
    if (found.access_key.empty() || found.secret_key.empty())
      throw Error(ErrorKind::environment, "there is no access key for the cloud", {}, kAdvice);
    return found;
  }
  const std::string where = settings.credentials.string();
  struct stat status {};
  if (::stat(where.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
    throw Error(ErrorKind::environment, "others can read this file of secrets", where,
                "chmod 600 it, and make a new key if others may have read it");
  // Not parse_json: its message would quote the file.
  const Json json = parse_json_or_null(read_file(settings.credentials));
  const auto text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json.at(key).is_string()
               ? json.at(key).get<std::string>()
               : std::string();
  };
  found = {text("access_key"), text("secret_key"), text("security_token")};
  if (found.access_key.empty() || found.secret_key.empty())
    throw Error(ErrorKind::environment, "access_key and secret_key are not in it", where, kAdvice);
  return found;
}

std::string job_name(const CloudSettings& settings, const plan::Plan& plan,
                     const plan::CasePlan& plan_case, int round, int attempt) {
  std::size_t index = 0;
  while (index < plan.cases.size() && plan.cases[index].name != plan_case.name) ++index;
  std::string id = plan.run_id;
  if (id.starts_with("run")) id.erase(0, 3);
  const std::string again = attempt > 0 ? fmt::format("-a{}", attempt) : "";
  return fmt::format("{}-{}-c{}-r{}{}", settings.job_name, id, index, round, again);
}

cloud::TrainingJobSpec job_spec(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                const std::string& name) {
  const CloudSettings settings = cloud_settings(plan.cluster);
  const Json& options = plan.cluster.options;
  const std::string root = "/" + settings.bucket + "/";
  const std::string own = root + settings.round_prefix(plan.run_id, name);
  cloud::TrainingJobSpec spec;
  spec.name = name;
  spec.description = "assay " + plan.run_id;
  spec.code_dir = root + settings.code_prefix();
  spec.boot_file = spec.code_dir + plan_case.command.at(0);
  spec.engine_id = options.value("engine", "");
  for (std::size_t i = 1; i < plan_case.command.size(); ++i) {
    const std::string& word = plan_case.command[i];  // --NAME=VALUE
    const std::size_t equals = word.find('=');
    spec.parameters.emplace_back(word.substr(2, equals - 2), word.substr(equals + 1));
  }
  const Json inputs = options.value("inputs", Json::object());
  for (const auto& item : inputs.items())
    spec.inputs.push_back({item.key(), item.value().get<std::string>()});
  spec.outputs = {{options.value("output", "train_url"), own + "out/"}};
  spec.environment = plan_case.env;
  // The old interface has no environment: ma-pre-start.sh sets it there.
  if (settings.single_server && !settings.v1) spec.environment["SINGLESERVER_MODE"] = "True";
  spec.flavor_id = options.value("flavor", "");
  spec.pool_id = options.value("pool", "");
  spec.workspace_id = options.value("workspace", "");
  spec.node_count = plan_case.nodes;
  const Json volumes = options.value("volumes", Json::array());
  for (const auto& volume : volumes)
    spec.volumes.push_back(
        {volume.value("server", ""), volume.value("path", ""), volume.value("read_only", false)});
  spec.log_url = own + "log/";
  spec.auto_stop_hours = options.value("auto_stop_h", 0);
  return spec;
}

Json describe_cloud_execution(const plan::Plan& plan) {
  const CloudSettings settings = cloud_settings(plan.cluster);
  Json jobs = Json::array();
  for (const plan::CasePlan& plan_case : plan.cases)
    for (int round = 1; round <= plan_case.repeats; ++round) {
      const cloud::TrainingJobSpec spec =
          job_spec(plan, plan_case, job_name(settings, plan, plan_case, round, 0));
      cloud::check(spec);
      jobs.push_back({{"case", plan_case.name}, {"round", round}, {"body", cloud::to_json(spec)}});
    }
  return {{"endpoint", settings.endpoint},
          {"api", settings.v1 ? "v1, bodies shown as v2 would have them" : "v2"},
          {"obs_endpoint", settings.obs_endpoint},
          {"project", settings.project},
          {"upload",
           {{"folder", settings.code.string()},
            {"to", "obs://" + settings.bucket + "/" + settings.code_prefix()}}},
          {"jobs", std::move(jobs)}};
}

}  // namespace assay::launch
