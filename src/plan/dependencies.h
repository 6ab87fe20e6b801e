#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"
#include "plan/suite.h"

namespace assay::plan {

/// `after` of a case: one name or a list of them.
[[nodiscard]] std::vector<config::Node> read_after(const config::Node& node);

/// `only_if` of a case: one condition or a list of them, each a mapping; `nodes` gets the place of
/// each.
[[nodiscard]] std::vector<Condition> read_only_if(const config::Node& node,
                                                  std::vector<config::Node>& nodes);

/// `hooks` of a suite or a case: a mapping of `before` and `after`, each one hook or a list of
/// them.
[[nodiscard]] std::vector<Hook> read_hooks(const config::Node& node);

/// The names that a name in `after` or `only_if` stands for: the case itself, or all points of a
/// sweep. Empty: there is neither.
[[nodiscard]] std::vector<std::string> cases_named(const Suite& suite, const std::string& name);

/// `selected` (indices of suite.cases) with everything that these depend on, in an order in which
/// every case comes after those that it depends on, and otherwise that of the suite. Throws at the
/// place of a name that is no case, and of one that closes a circle.
[[nodiscard]] std::vector<std::size_t> in_order(const Suite& suite,
                                                const std::vector<std::size_t>& selected);

/// Why a case cannot be run because of one that it depends on; empty: it can.
[[nodiscard]] std::string left_out_before(const SuiteCase& wanted, const Suite& suite,
                                          const Plan& plan);

/// Throws at the place of a condition about a metric that the other case cannot have.
void check_conditions(const Suite& suite, const Plan& plan);

/// The hooks with what is known in their commands: `bindir` is that of the controller, `on_nodes`
/// what is known of the nodes. Throws for a placeholder that a hook has no value for, and for a
/// hook on nodes where the launcher starts no agents.
[[nodiscard]] std::vector<Hook> resolve_hooks(std::vector<Hook> hooks, const Cluster& cluster,
                                              const std::string& bindir,
                                              const std::map<std::string, std::string>& on_nodes);

/// Hooks begin with it, so no case does.
inline constexpr std::string_view kHookFolder = "hook.";

/// The folder of a hook's evidence in the run directory, in the place of a case's name:
/// "hook.before.warm" for the run, "hook.before.warm.train" for the case 'train'.
[[nodiscard]] std::string hook_folder(const Hook& hook, const std::string& case_name);

/// Whether a hook may have this name: letters, digits, '-' and '_', at most 30.
[[nodiscard]] bool is_hook_name(std::string_view name) noexcept;

/// hook_folder() of every hook of the plan.
[[nodiscard]] std::vector<std::string> hook_folders(const Plan& plan);

/// The case that runs a hook on all of `nodes` nodes: one process each, without telemetry, rules or
/// a stall limit.
[[nodiscard]] CasePlan hook_case(const Hook& hook, const std::string& case_name, int nodes);

}  // namespace assay::plan
