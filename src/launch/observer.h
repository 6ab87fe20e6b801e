#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/messages.h"
#include "core/json.h"
#include "core/round_status.h"
#include "plan/plan.h"

namespace assay::launch {

/// How a round ended, as in the journal's round_end.
struct RoundOutcome {
  RoundStatus status = RoundStatus::completed;
  std::string reason{};  ///< names the culprit; empty when completed
  std::string advice{};
  std::vector<int> culprits{};  ///< ranks that the others waited for, where that could be told
  /// The folders of nodes whose agents listed their files themselves, in the round's folder.
  std::set<std::string> listed{};
};

/// What is known of a running round, for progress and the live view.
struct RoundProgress {
  int ranks = 0;
  int started = 0;
  int ended = 0;
  std::vector<std::string> hosts{};              ///< by node; empty where there are none
  std::map<int, agent::Heartbeat> heartbeats{};  ///< newest of each node
  Json automl{};                                 ///< of an AutoML case: how far its experiment is
  std::string state{};                           ///< of a service's job, in its own words
};

/// Informed of what happens while a run goes on; every call comes from the thread that executes the
/// run.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void round_started(const plan::CasePlan& plan_case, int round, int done, int total) = 0;
  virtual void round_progress(const plan::CasePlan& plan_case, int round,
                              const RoundProgress& progress) = 0;
  virtual void round_ended(const plan::CasePlan& plan_case, int round,
                           const RoundOutcome& outcome) = 0;
  /// The nodes are not there yet: `what_for` is the reason that the scheduler gives.
  virtual void waiting(const std::string& what_for) = 0;
  /// Something that the user should know and that does not end the run.
  virtual void warning(const std::string& text) = 0;
  /// Something that is worth a line, and nothing to worry about.
  virtual void remark(const std::string& /*text*/) {}
  virtual void stopping(int signals) = 0;  ///< the user asked once (1) or again (2)
};

}  // namespace assay::launch
