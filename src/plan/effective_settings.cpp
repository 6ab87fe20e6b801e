#include "plan/effective_settings.h"

#include <filesystem>

#include "core/secrets.h"
#include "core/units.h"
#include "plan/plan.h"
#include "plan/repeats.h"

namespace assay::plan {

std::string short_origin(const std::string& origin, const std::string& suite_file) {
  if (suite_file.empty() || !origin.starts_with(suite_file)) return origin;
  return std::filesystem::path(suite_file).filename().string() + origin.substr(suite_file.size());
}

std::vector<Setting> effective_settings(const CasePlan& plan, const std::string& suite_file) {
  std::vector<Setting> out;
  const auto add = [&](const std::string& key, Json value, std::string use = {}) {
    const auto origin = plan.origin.find(key);
    out.push_back({key, std::move(value),
                   origin == plan.origin.end() ? "" : short_origin(origin->second, suite_file),
                   std::move(use)});
  };
  add("model", plan.model);
  add("framework", plan.framework);
  add("hardware", plan.hardware);
  add("nodes", plan.nodes);
  add("procs", plan.procs);
  add("repeats", plan.until ? Json(repeats_text(plan)) : Json(plan.repeats));
  if (plan.warmup_rounds > 0) add("warmup_rounds", plan.warmup_rounds);
  add("command", plan.command);
  add("launch", std::string(to_text(plan.launch)));
  add("rendezvous", plan.rendezvous);
  if (plan.container) add("container", plan.container->runtime + " " + plan.container->image);
  if (!plan.workdir.empty()) add("workdir", plan.workdir);
  if (!plan.data.empty()) add("data", plan.data);
  for (const auto& [name, value] : plan.env) add("env." + name, without_secret(name, value));
  for (const auto& [key, value] : plan.config.items()) {
    const auto origin = plan.config_origin.find(key);
    const bool text = value.is_string();
    out.push_back(
        {"config." + key, text ? Json(without_secret(key, value.get<std::string>())) : value,
         origin == plan.config_origin.end() ? "" : short_origin(origin->second, suite_file),
         plan.config_use == ConfigUse::none ? "" : std::string(to_text(plan.config_use))});
  }
  for (const auto& [key, value] : plan.declared.items())
    add("declared." + key,
        value.is_string() ? Json(without_secret(key, value.get<std::string>())) : value,
        "declared");
  if (plan.automl) add("automl", automl::to_json(*plan.automl));
  for (const OutputMetric& metric : plan.metrics) add("metrics." + metric.name, metric.pattern);
  if (plan.target)
    add("target", Json{{"metric", plan.target->metric},
                       {"value", plan.target->value},
                       {"better", std::string(to_text(plan.target->better))}});
  if (plan.peak_flops)
    out.push_back(
        {"peak_flops", *plan.peak_flops, short_origin(plan.peak_flops_origin, suite_file), ""});
  if (!plan.headline.empty()) add("headline", plan.headline);
  add("warmup_steps", plan.warmup_steps);
  add("drop_caches", plan.drop_caches);
  if (plan.bind.mode != BindMode::none) add("bind", fields_to_json(plan.bind));
  add("limits.time", duration_text(plan.limits.time));
  add("limits.stall", plan.limits.stall.count() == 0 ? "off" : duration_text(plan.limits.stall));
  add("limits.grace", duration_text(plan.limits.grace));
  add("limits.output", plan.limits.output_bytes);
  return out;
}

}  // namespace assay::plan
