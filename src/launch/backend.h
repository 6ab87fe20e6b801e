#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "core/error.h"
#include "launch/observer.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::launch {

/// What a backend works with; all of it outlives the backend.
struct BackendContext {
  asio::io_context& loop;
  const store::RunDir& run;
  store::Journal& journal;
  Observer& observer;
  /// Of every rank besides the plan's: what no file may hold.
  std::map<std::string, std::string> env{};
};

/// One attempt at a round.
struct RoundTask {
  const plan::CasePlan& plan_case;
  int number = 1;
  std::function<void(const RoundProgress&)> on_progress;
};

/// A case cannot have the nodes that it needs: others may.
class NodesMissing : public Error {
 public:
  using Error::Error;
};

/// Where the rounds of a run are executed: on agents that Assay starts, or as jobs of a service.
/// The run loop calls it, one thing at a time; everything happens on the loop's thread, or is
/// awaited there. Throws Error when the run cannot go on; what was journaled by then stays.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Called first: checks what the plan asks for and brings up what all rounds need.
  virtual asio::awaitable<void> prepare() = 0;
  /// The nodes, as in system.json: [{"node", "host", …}].
  virtual asio::awaitable<Json> describe() = 0;
  /// Whether the nodes are others than describe() said last.
  [[nodiscard]] virtual bool has_new_nodes() const { return false; }
  /// How the devices are now, after the last round: [{"node", "state"}]. Bounded; empty where
  /// nothing tells.
  virtual asio::awaitable<Json> device_states() { co_return Json::array(); }
  /// Before a round of this case counts as started: nodes that were lost come back, or others step
  /// in, and images come. Throws NodesMissing.
  virtual asio::awaitable<void> prepare_round(const RoundTask& task) = 0;
  /// Runs the round, journals what happens from its round_start on, and brings its evidence into
  /// the run directory. The run loop journals the round_end.
  virtual asio::awaitable<RoundOutcome> run_round(const RoundTask& task) = 0;
  /// The user asked to end, for the first time (1) or again. The call under way ends soon.
  virtual void interrupt(int times) = 0;
  /// After the last round: gives back what prepare() brought up. Bounded.
  virtual asio::awaitable<void> close() = 0;
};

using MakeBackend = std::function<std::unique_ptr<Backend>(const BackendContext&)>;

}  // namespace assay::launch
