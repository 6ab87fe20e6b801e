#include "catalog/metrics.h"
#include "plan/automl.h"
#include "plan/cluster.h"
#include "plan/repeats.h"
#include "plan/suite.h"

namespace assay::plan {

const std::map<std::string, std::vector<std::string>>& suite_keys() {
  static const std::map<std::string, std::vector<std::string>> all = [] {
    std::map<std::string, std::vector<std::string>> keys{
        {"",
         {"name", "description", "vendor", "cluster", "telemetry", "submission", "baseline",
          "container", "defaults", "cases", "hooks"}},
        {"cluster",
         {"launcher", "hosts", "master_addr", "master_port", "rank_table", "retries", "exclude",
          "min_nodes"}},
        {"cluster.modelarts.volumes", CloudVolume::keys()},
        {"cluster.hosts",
         {"name", "slots", "server_id", "device_ips", "super_pod", "super_device_ids", "ib_addr",
          "address", "user", "port", "identity", "jump", "env"}},
        {"telemetry", {"interval", "enabled", "prometheus"}},
        {"telemetry.prometheus", {"listen"}},
        {"submission", {"org", "division", "status", "platform", "benchmark"}},
        {"container",
         {"runtime", "image", "runtime_options", "options", "mounts", "shm_size", "user", "pull",
          "load", "timeout"}},
        {"defaults",
         {"limits", "env", "rules", "repeats", "warmup_rounds", "warmup_steps", "drop_caches",
          "bind"}},
        {"repeats", repeats_keys()},
        {"limits", catalog::limit_keys()},
        {"case", {"case",    "name",      "model",   "framework",     "hardware",     "nodes",
                  "procs",   "repeats",   "command", "shell",         "launch",       "rendezvous",
                  "automl",  "container", "data",    "config",        "declared",     "env",
                  "workdir", "metrics",   "target",  "peak_flops",    "warmup_steps", "drop_caches",
                  "limits",  "rules",     "needs",   "warmup_rounds", "sweep",        "after",
                  "only_if", "hooks",     "bind"}},
        {"only_if", {"case", "verdict", "metric", "min", "max"}},
        {"hooks", {"before", "after"}},
        {"hook", {"name", "command", "shell", "on", "time", "required"}},
        {"needs", {"devices", "precision", "lacks"}},
        {"automl", {"start",      "classes",          "data",       "precision",    "space",
                    "hyper",      "epochs",           "patience",   "max_duration", "min_duration",
                    "max_trials", "trial_limit",      "silence",    "progress",     "attempts",
                    "seed",       "limits",           "candidates", "inherit",      "weights",
                    "address",    "devices_per_trial"}},
        {"automl.hyper", automl::hyper_names()},
        {"automl.limits", {"parameters", "operations", "activations", "layers"}},
        {"automl.patience", {"epochs", "min_delta"}},
        {"metric", {"match", "unit", "better", "reduce", "across", "kind"}},
        {"target", catalog::target_keys()},
        {"rule", catalog::rule_change_keys()}};
    for (const LauncherInfo& launcher : launcher_catalog()) {
      if (launcher.keys.empty()) continue;
      keys["cluster"].push_back(launcher.name);
      keys["cluster." + launcher.name] = launcher.keys;
    }
    return keys;
  }();
  return all;
}

}  // namespace assay::plan
