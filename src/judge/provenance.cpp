#include "judge/provenance.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <fmt/format.h>

#include "catalog/shipped_rules.h"
#include "core/json_access.h"
#include "core/text.h"

namespace assay::judge {

namespace {

// Notes the names of a node's items and their hashes; items without one cannot be compared.
using Hashes = std::map<std::string, std::string>;

void note(Hashes& into, const Json& item) {
  const std::string hash = text_at(item, "sha256");
  if (!hash.empty()) into[text_at(item, "path")] = hash;
}

Hashes programs_of(const Json& node) {
  Hashes out;
  note(out, object_at(node, "program"));
  if (const std::string image = text_at(node, "image"); !image.empty()) out["the image"] = image;
  return out;
}

Hashes code_of(const Json& node) {
  Hashes out;
  for (const Json& file : list_at(node, "files")) note(out, file);
  const Json& code = object_at(node, "code");
  if (code.is_object() && code.value("complete", false)) note(out, code);
  return out;
}

// Counts differences from the first occurrence on the same host.
class Changes {
 public:
  void see(const std::string& host, int round, const Hashes& hashes) {
    for (const auto& [name, hash] : hashes) {
      const auto [first, fresh] = first_.try_emplace({host, name}, hash);
      if (fresh || first->second == hash) continue;
      ++count_;
      if (places_.size() < 4)
        places_.push_back(fmt::format("{} on {} in round {}", name, host, round));
    }
  }
  [[nodiscard]] bool known() const { return !first_.empty(); }
  [[nodiscard]] double count() const { return count_; }
  [[nodiscard]] std::string places() const { return join(places_, ", "); }

 private:
  std::map<std::pair<std::string, std::string>, std::string> first_;
  double count_ = 0;
  std::vector<std::string> places_;
};

std::vector<catalog::Rule> with_aspects_of(const std::vector<catalog::Rule>& standard,
                                           std::vector<catalog::Rule> rules) {
  for (catalog::Rule& rule : rules)
    if (const auto same = std::ranges::find(standard, rule.id, &catalog::Rule::id);
        same != standard.end())
      rule.aspect = same->aspect;
  return rules;
}

// A plan may omit its relaxations, or compare with a standard of its own.
void add_relaxations(const plan::Plan& plan, const plan::CasePlan& case_plan,
                     std::vector<catalog::RuleDifference>& listed) {
  const std::string workload = case_plan.automl ? plan::kAutomlWorkload : case_plan.model;
  // Avoids copying all rules per case: most workloads change none, and cases may be thousands.
  const catalog::RuleStandard& shipped = catalog::shipped_rules();
  std::vector<catalog::Rule> changed;
  if (shipped.changes.contains(workload)) changed = shipped.of(workload);
  const std::vector<catalog::Rule>& standard = changed.empty() ? shipped.rules : changed;
  // Plans of version 0.1 have no aspects; that is not a relaxation.
  std::vector<catalog::Rule> aligned;
  if (!case_plan.rule_changes) aligned = with_aspects_of(standard, case_plan.rules);
  for (catalog::RuleDifference& own : catalog::rule_differences(
           standard, case_plan.rule_changes ? case_plan.rules : aligned, {})) {
    if (!own.relaxed()) continue;
    const auto same = std::ranges::find(listed, own.id(), &catalog::RuleDifference::id);
    if (!own.in_force) own.origin = fmt::format("{} {} made", kNotInPlan, plan.assay_version);
    if (same == listed.end()) {
      listed.push_back(std::move(own));
    } else {
      own.origin = same->origin;
      *same = std::move(own);
    }
  }
}

}  // namespace

void state_changes(const std::vector<RoundResult>& rounds, Facts& facts) {
  Changes programs;
  Changes code;
  for (const RoundResult& round : rounds)
    for (const Json& node : round.executed) {
      const std::string host = text_at(node, "host");
      programs.see(host, round.round, programs_of(node));
      code.see(host, round.round, code_of(node));
    }
  if (programs.known()) state(facts, "program_changes", programs.count(), programs.places());
  if (code.known()) state(facts, "code_changes", code.count(), code.places());
}

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
  if (plan.baseline)
    out["baseline"] = {{"file", std::filesystem::path(plan.baseline->file).filename().string()},
                       {"sha256", plan.baseline->sha256}};
  if (!plan.submission.empty()) out["submission"] = plan.submission;
  out["journal_lines_skipped"] = skipped;
  return out;
}

void add_configuration(const plan::Plan& plan, const plan::CasePlan& case_plan,
                       CaseResult& result) {
  result.configuration = plan::effective_settings(case_plan, plan.suite_file);
  result.rules = case_plan.rules;
  // Plans of version 0.1 do not list their changes, but their rules show them.
  result.rule_changes = case_plan.rule_changes.value_or(std::vector<catalog::RuleDifference>());
  add_relaxations(plan, case_plan, *result.rule_changes);
  const auto shorten = [&](std::string& origin) {
    origin = plan::short_origin(origin, plan.suite_file);
  };
  for (catalog::Rule& rule : result.rules) shorten(rule.origin);
  for (catalog::RuleDifference& difference : *result.rule_changes) {
    shorten(difference.origin);
    if (difference.in_force) shorten(difference.in_force->origin);
  }
}

}  // namespace assay::judge
