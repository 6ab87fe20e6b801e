#include "emulator/emulator_settings.h"

#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_error.h"
#include "core/text.h"

namespace assay::emulator {

namespace {

Json default_flavors() {
  Json flavors = Json::array();
  constexpr std::array<std::pair<std::string_view, int>, 3> cards = {
      {{"modelarts.kat1.xlarge", 1}, {"modelarts.kat1.2xlarge", 2}, {"modelarts.kat1.8xlarge", 8}}};
  for (const auto& [name, count] : cards)
    flavors.push_back(
        {{"flavor_id", name},
         {"flavor_name", fmt::format("Emulated NPU({})", count)},
         {"flavor_type", "NPU"},
         {"billing", {{"code", name}, {"unit_num", 1}}},
         {"flavor_info",
          {{"max_num", 16},
           {"cpu", {{"arch", "aarch64"}, {"core_num", 24 * count}}},
           {"npu", {{"unit_num", count}, {"product_name", "Ascend 910"}, {"memory", "32GB"}}},
           {"memory", {{"size", 96 * count}, {"unit", "GB"}}},
           {"disk", {{"size", 3200}, {"unit", "GB"}}}}}});
  flavors.push_back({{"flavor_id", "modelarts.vm.cpu.2u"},
                     {"flavor_name", "Emulated CPU(2U)"},
                     {"flavor_type", "CPU"},
                     {"billing", {{"code", "modelarts.vm.cpu.2u"}, {"unit_num", 1}}},
                     {"flavor_info",
                      {{"max_num", 16},
                       {"cpu", {{"arch", "x86"}, {"core_num", 2}}},
                       {"memory", {{"size", 8}, {"unit", "GB"}}},
                       {"disk", {{"size", 50}, {"unit", "GB"}}}}}});
  return flavors;
}

Json default_engines() {
  return Json::parse(R"([{
    "engine_id": "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64",
    "engine_name": "Ascend-Powered-Engine",
    "engine_version": "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64",
    "v1_engine_version": "MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64",
    "v1_compatible": false, "run_user": "1102",
    "image_info": {"cpu_image_url": "", "gpu_image_url": "emulated", "image_version": "1"}}])");
}

}  // namespace

Settings settings_from_json(const Json& json, const std::string& where) {
  Settings settings;
  std::vector<std::string> known;
  try {
    const auto text = [&](const std::string& key, std::string& into) {
      known.push_back(key);
      if (json.contains(key)) into = json.at(key).get<std::string>();
    };
    const auto duration = [&](const std::string& key, Nanoseconds& into) {
      known.push_back(key);
      if (json.contains(key)) into = from_seconds(json.at(key).get<double>());
    };
    text("user", settings.user);
    text("password", settings.password);
    text("domain", settings.domain);
    text("access_key", settings.access_key);
    text("secret_key", settings.secret_key);
    text("project_id", settings.project_id);
    text("project_name", settings.project_name);
    text("obs_domain", settings.obs_domain);
    duration("token_lifetime_s", settings.token_lifetime);
    duration("clock_offset_s", settings.clock_offset);
    duration("job_pending_s", settings.job_pending);
    duration("job_running_s", settings.job_running);
    text("python", settings.python);
    duration("job_time_s", settings.job_time);
    duration("job_cpu_s", settings.job_cpu);
    duration("job_upload_s", settings.job_upload);
    known.insert(known.end(), {"buckets", "flavors", "engines", "run_jobs", "job_processes"});
    settings.run_jobs = json.value("run_jobs", settings.run_jobs);
    settings.job_processes = json.value("job_processes", settings.job_processes);
    if (json.contains("buckets"))
      settings.buckets = json.at("buckets").get<std::vector<std::string>>();
    settings.flavors = json.value("flavors", default_flavors());
    settings.engines = json.value("engines", default_engines());
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::config, plain_error(e), where);
  }
  for (const auto& item : json.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      throw Error(ErrorKind::config,
                  fmt::format("unknown key '{}'{}", item.key(), did_you_mean(item.key(), known)),
                  where);
  if (settings.access_key.empty() || settings.secret_key.empty())
    throw Error(ErrorKind::config, "access_key and secret_key are missing", where,
                "the emulator checks signatures with them; make them up");
  return settings;
}

}  // namespace assay::emulator
