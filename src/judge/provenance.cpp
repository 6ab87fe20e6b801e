#include "judge/provenance.h"

#include <filesystem>

namespace assay::judge {

Json provenance_of(const plan::Plan& plan, std::size_t skipped) {
  Json out = Json::object();
  out["run_id"] = plan.run_id;
  out["created"] = plan.created;
  out["assay_version"] = plan.assay_version;
  out["suite_file"] = std::filesystem::path(plan.suite_file).filename().string();
  out["suite_sha256"] = plan.suite_sha256;
  out["overrides"] = plan.overrides;
  out["vendor"] = plan.vendor;
  out["launcher"] = plan.cluster.launcher();
  out["telemetry_interval_s"] = seconds(plan.telemetry.interval);
  if (!plan.submission.empty()) out["submission"] = plan.submission;
  out["journal_lines_skipped"] = skipped;
  return out;
}

void add_configuration(const plan::Plan& plan, const plan::CasePlan& case_plan,
                       CaseResult& result) {
  result.configuration = plan::effective_settings(case_plan, plan.suite_file);
  result.rules = case_plan.rules;
  result.rule_changes = case_plan.rule_changes;
  const auto shorten = [&](std::string& origin) {
    origin = plan::short_origin(origin, plan.suite_file);
  };
  for (catalog::Rule& rule : result.rules) shorten(rule.origin);
  if (!result.rule_changes) return;
  for (catalog::RuleDifference& difference : *result.rule_changes) {
    shorten(difference.origin);
    if (difference.in_force) shorten(difference.in_force->origin);
  }
}

}  // namespace assay::judge
