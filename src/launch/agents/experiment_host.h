#pragma once

#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "automl/coordinator.h"
#include "launch/agents/fleet.h"
#include "launch/agents/round.h"
#include "plan/plan.h"

namespace assay::launch {

/// The coordinator of an AutoML case beside the round whose ranks are its workers. When the
/// experiment is over, the workers end by themselves and the round with them; when no worker is
/// left, the experiment ends. On the loop's thread.
class ExperimentHost {
 public:
  /// `directory` holds the experiment, a new one or one to go on with. Throws as Coordinator does.
  static asio::awaitable<std::unique_ptr<ExperimentHost>> make(asio::io_context& loop,
                                                               const plan::Plan& plan,
                                                               const plan::CasePlan& plan_case,
                                                               std::filesystem::path directory,
                                                               const Fleet& fleet);

  /// What the workers need to find it, the token included: not for files or logs.
  [[nodiscard]] std::map<std::string, std::string> environment() const;

  /// Starts; `round` must live until finish().
  void start(Round& round);
  /// The user's wish: the workers are asked to stop, and the score so far stays.
  void stop();
  /// After the round. Gives its outcome for the experiment: one that lost all its workers after it
  /// had trained is lost, not failed, so that --resume goes on with it. Throws Error of kind
  /// environment when the journal could not be written.
  asio::awaitable<RoundOutcome> finish(RoundOutcome outcome);

  /// For the live view.
  [[nodiscard]] Json live() const;

 private:
  ExperimentHost(asio::io_context& loop, const automl::ExperimentSettings& settings,
                 std::string address, automl::Coordinator::Options options);
  void on_progress();

  asio::io_context& loop_;
  automl::ExperimentSettings settings_;
  std::string address_;
  automl::Coordinator coordinator_;
  asio::steady_timer done_;
  Round* round_ = nullptr;
  bool running_ = false;
  bool end_noticed_ = false;
  std::exception_ptr failure_;
};

/// The address of this machine that packets to `peer` (a name or address) leave from; empty when
/// there is no way. Sends nothing.
[[nodiscard]] std::string address_towards(const std::string& peer);

}  // namespace assay::launch
