#include "plan/case_config.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/processors.h"

namespace assay::plan {

using catalog::ConfigOverride;
using catalog::Workload;
using config::Entry;
using config::Node;

namespace {

Json convert_like(const Json& example, const Node& value) {
  if (example.is_boolean()) return value.boolean();
  if (example.is_number_integer()) return value.integer();
  if (example.is_number()) return value.number();
  if (example.is_string()) return value.text();
  if (example.is_array()) (void)value.items();
  if (example.is_object()) (void)value.entries();
  return value.json();
}

// A configuration under construction: each layer overrides the ones before.
class ConfigMerge {
 public:
  explicit ConfigMerge(const Workload& workload) : workload_(workload) {
    for (const Entry& entry : workload.config.entries()) {
      known_.push_back(entry.key);
      config_[entry.key] = entry.value.json();
      origin_[entry.key] = entry.value.origin();
    }
  }

  void add(const Node& layer) {
    if (layer.is_null()) return;
    for (const Entry& entry : layer.entries()) {
      config::require_known(entry.value, "config key", entry.key, known_);
      if (entry.value.is_null()) continue;
      Json value = convert(entry);
      const bool fixed = std::ranges::find(workload_.fixed, entry.key) != workload_.fixed.end();
      if (fixed && value != config_[entry.key])
        entry.value.fail("config key '" + entry.key + "' is fixed at " +
                             dump_line(config_[entry.key]) + " by the workload '" + workload_.name +
                             "'; it cannot be set to " + dump_line(value),
                         "fixed keys keep results comparable (" + workload_.origin + ")");
      config_[entry.key] = std::move(value);
      origin_[entry.key] = entry.value.origin();
    }
  }

  // Converts to the default's type, whatever weaker layers made of it.
  [[nodiscard]] Json convert(const Entry& entry) const {
    if (workload_.options) {
      if (workload_.options->is_auto(entry.key, entry.value)) return "auto";
      workload_.options->check(entry.key, entry.value);
    }
    return convert_like(workload_.config.find(entry.key)->json(), entry.value);
  }

  // Keeps a case of hardware cpu on the CPU even if the machine has devices.
  void stay_on_cpu(const Node& wanted) {
    const auto device = config_.find("device");
    if (device == config_.end() || *device != "auto") return;
    *device = "cpu";
    origin_["device"] = wanted.origin();
  }

  void store(CasePlan& plan) {
    plan.config = std::move(config_);
    plan.config_origin = std::move(origin_);
  }

 private:
  const Workload& workload_;
  std::vector<std::string> known_;
  Json config_ = Json::object();
  std::map<std::string, std::string> origin_;
};

void merge_workload_config(const Workload& workload, const SuiteCase& wanted,
                           const std::string& vendor, CasePlan& plan) {
  ConfigMerge merge(workload);
  std::vector<const ConfigOverride*> layers;
  for (const ConfigOverride& layer : workload.overrides)
    if (layer.matches(vendor, wanted.hardware, wanted.nodes, wanted.procs))
      layers.push_back(&layer);
  std::ranges::stable_sort(layers, {}, &ConfigOverride::specificity);
  for (const ConfigOverride* layer : layers) merge.add(layer->config);
  merge.add(wanted.config);
  if (are_processors(wanted.hardware)) merge.stay_on_cpu(wanted.node);
  merge.store(plan);
}

void take_own_config(const SuiteCase& wanted, CasePlan& plan) {
  if (!wanted.config.is_null())
    for (const Entry& entry : wanted.config.entries()) {
      if (entry.value.is_null()) continue;
      plan.config[entry.key] = entry.value.json();
      plan.config_origin[entry.key] = entry.value.origin();
    }
  if (!wanted.declared.is_null())
    for (const Entry& entry : wanted.declared.entries())
      if (!entry.value.is_null()) plan.declared[entry.key] = entry.value.json();
}

}  // namespace

void resolve_config(const SuiteCase& wanted, const Workload* workload, const std::string& vendor,
                    CasePlan& plan) {
  if (workload != nullptr)
    merge_workload_config(*workload, wanted, vendor, plan);
  else
    take_own_config(wanted, plan);
}

}  // namespace assay::plan
