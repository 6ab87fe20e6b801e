#include "plan/config_use.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "plan/command.h"

namespace assay::plan {

namespace {

bool is_used(const CasePlan& plan, const std::string& placeholder) {
  const auto uses = [&](const std::string& text) { return uses_placeholder(text, placeholder); };
  return std::ranges::any_of(plan.command, uses) ||
         std::ranges::any_of(plan.env, [&](const auto& variable) { return uses(variable.second); });
}

// Lists what does reach the command, for the advice.
std::string taken_by(const CasePlan& plan) {
  std::vector<std::string> words;
  for (const std::string& name : placeholder_names())
    if (is_used(plan, name)) words.push_back("{" + name + "}");
  for (const auto& [name, value] : plan.env) words.push_back("env." + name);
  return words.empty() ? "it takes nothing from the suite but its words"
                       : "it takes " + ellipsize(join(words, ", "), 300);
}

}  // namespace

void resolve_config_use(const SuiteCase& wanted, const catalog::Workload* workload,
                        const Cluster& cluster, CasePlan& plan) {
  plan.config_use = ConfigUse::none;
  if (plan.config.empty()) return;
  // config.json is in the node's folder, which {outdir} names.
  if (cluster.traits.starts_agents && (is_used(plan, "config") || is_used(plan, "outdir"))) {
    plan.config_use =
        workload != nullptr && workload->options ? ConfigUse::applied : ConfigUse::offered;
    return;
  }
  std::string key = plan.config.begin().key();
  config::Node place = wanted.node;
  if (!wanted.config.is_null())
    for (const config::Entry& entry : wanted.config.entries())
      if (!entry.value.is_null()) {
        key = entry.key;
        place = entry.value;
        // Reports a setting that the user just gave before older ones.
        if (entry.value.is_override()) break;
      }
  const std::string what = "config." + printable(ellipsize(key, 100)) + " has no way to the ";
  if (!cluster.traits.starts_agents)
    place.fail(what + "job of the case '" + plan.name + "': the launcher " + cluster.launcher() +
                   " hands over the words of the command and 'env'",
               "write it into the command, as --" + key + "=VALUE");
  if (workload != nullptr)
    throw Error(ErrorKind::config, what + "program of the workload '" + workload->name + "'",
                workload->origin, "its command needs {config}, the path of config.json");
  place.fail(
      what + "command of the case '" + plan.name + "', which is not told of config.json",
      "put {config}, the path of config.json, into 'command' or 'env'; what the command reads "
      "from files of its own belongs under 'declared', which is recorded only (" +
          taken_by(plan) + ")");
}

}  // namespace assay::plan
