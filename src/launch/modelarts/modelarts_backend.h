#pragma once

#include <memory>
#include <stop_token>

#include "launch/backend.h"
#include "launch/modelarts/cloud_connection.h"

namespace assay::launch {

/// Rounds as jobs of ModelArts, one after the other. What waits for the service does so on a thread
/// of its own. A job that was created is followed again by the next run of the loop.
class ModelArtsBackend : public Backend {
 public:
  ModelArtsBackend(const BackendContext& context, const plan::ModelArtsOptions& options);

  /// What the service refuses is thrown: a suite that is wrong shows here.
  asio::awaitable<void> prepare() override;
  asio::awaitable<Json> describe() override;
  asio::awaitable<void> prepare_round(const RoundTask& task) override;
  asio::awaitable<RoundOutcome> run_round(const RoundTask& task) override;
  void interrupt(int times) override;
  asio::awaitable<void> close() override;

 private:
  BackendContext context_;
  const plan::ModelArtsOptions& options_;
  std::unique_ptr<CloudConnection> connection_;
  Json flavor_ = Json::object();
  std::stop_source asked_;    // to end
  std::stop_source at_once_;  // the user asked again
};

}  // namespace assay::launch
