#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "launch/backend.h"
#include "launch/controller_hook.h"

namespace assay::launch {

/// Runs the hooks of a run. In journal and run directory a hook is a case of its own
/// (plan::hook_folder), and each time that it is run is the next round of it: so its output is
/// evidence, listed and sealed like that of ranks.
class HookRunner {
 public:
  /// What the run loop does for a hook as it does for a round.
  struct Rounds {
    /// Runs a round of a case on the nodes and journals all of it.
    std::function<asio::awaitable<RoundOutcome>(const plan::CasePlan&, int)> on_nodes;
    /// Lists the files of a round that ended, and journals its end.
    std::function<asio::awaitable<void>(const std::string& name, int, const RoundOutcome&)> end;
  };

  /// `events`: what is in the journal so far.
  HookRunner(const BackendContext& context, Rounds rounds, const std::vector<Json>& events);

  /// Runs the hooks of that time, of a case, or around all ("", with `nodes` as the most that a
  /// case has). Those before stop at the first required one that fails; those after are all run.
  /// Gives what failed: "hook 'x': exit 1"; nothing: none did, or the user ended it.
  asio::awaitable<std::optional<std::string>> run(const std::vector<plan::Hook>& hooks,
                                                  plan::HookTime when, const std::string& case_name,
                                                  int nodes);
  /// Whether something of the case (of any: "") was begun since its hooks after it were run.
  [[nodiscard]] bool owed(const std::string& case_name) const { return owed_.contains(case_name); }
  void round_started(const std::string& case_name);
  void interrupt(int times);

 private:
  asio::awaitable<RoundOutcome> run_here(const plan::Hook& hook, const std::string& case_name,
                                         int number);

  BackendContext context_;
  Rounds rounds_;
  std::map<std::string, int> runs_;  // by folder: how often it was begun
  std::set<std::string> owed_;       // cases whose hooks after them have to be run
  ControllerHook* current_ = nullptr;
  bool interrupted_ = false;
};

}  // namespace assay::launch
