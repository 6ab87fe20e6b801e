#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"
#include "plan/suite.h"

namespace assay::plan {

/// Reads a case's `after`: one name or a list of them.
[[nodiscard]] std::vector<config::Node> read_after(const config::Node& node);

/// Reads a case's `only_if`: one condition or a list of them, each a mapping; `nodes` receives the
/// place of each.
[[nodiscard]] std::vector<Condition> read_only_if(const config::Node& node,
                                                  std::vector<config::Node>& nodes);

/// Reads the `hooks` of a suite or a case: a mapping of `before` and `after`, each one hook or a
/// list.
[[nodiscard]] std::vector<Hook> read_hooks(const config::Node& node);

/// The names meant by a name in `after` or `only_if`: the case itself, or all points of a sweep.
/// Empty when there is neither.
[[nodiscard]] std::vector<std::string> cases_named(const Suite& suite, const std::string& name);

/// `selected` (indices of suite.cases) and all their dependencies, ordered so that every case comes
/// after its dependencies and otherwise as in the suite. Throws at the place of a name that is not
/// a case, or that closes a cycle.
[[nodiscard]] std::vector<std::size_t> in_order(const Suite& suite,
                                                const std::vector<std::size_t>& selected);

/// Why a case cannot run because of a dependency; empty when it can.
[[nodiscard]] std::string left_out_before(const SuiteCase& wanted, const Suite& suite,
                                          const Plan& plan);

/// Throws at the place of a condition on a metric that the other case cannot have.
void check_conditions(const Suite& suite, const Plan& plan);

/// Fills in the placeholders of the hooks' commands: with `bindir` on the controller, with
/// `on_nodes` on the nodes. Throws for a placeholder that a hook has no value for, and for a hook
/// on nodes when the launcher starts no agents.
[[nodiscard]] std::vector<Hook> resolve_hooks(std::vector<Hook> hooks, const Cluster& cluster,
                                              const std::string& bindir,
                                              const std::map<std::string, std::string>& on_nodes);

/// The prefix of all hooks' folders; no case has it.
inline constexpr std::string_view kHookFolder = "hook.";

/// The folder in the run directory that holds a hook's evidence, in place of a case's name:
/// "hook.before.warm" for the run, "hook.before.warm.train" for the case 'train'.
[[nodiscard]] std::string hook_folder(const Hook& hook, const std::string& case_name);

/// Whether a hook may have this name: at most 30 letters, digits, '-' and '_'.
[[nodiscard]] bool is_hook_name(std::string_view name) noexcept;

/// The hook_folder() of every hook of the plan.
[[nodiscard]] std::vector<std::string> hook_folders(const Plan& plan);

/// A case that runs a hook on all of `nodes` nodes: one process each, without telemetry, rules or a
/// stall limit.
[[nodiscard]] CasePlan hook_case(const Hook& hook, const std::string& case_name, int nodes);

}  // namespace assay::plan
