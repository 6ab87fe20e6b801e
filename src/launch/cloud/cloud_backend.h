#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "launch/backend.h"
#include "launch/cloud/cloud_connection.h"

namespace assay::launch {

/// Looks at all that a run of this plan needs, before anything is uploaded: the code, the bucket,
/// what the service has. Waits while the service says that it is busy, for as long as a job may
/// wait. All of it ends within the options' `start`. No request waits longer for its answer than
/// limits.time, and a minute at most, its tries included; `waiting` is told of one that is not
/// answered in two seconds, from another thread but never twice at once. Gives what it runs jobs
/// on, for system.json. Throws Error; what is wrong in the suite is of kind config.
[[nodiscard]] Json check_cloud(const Connect& connect, const plan::Plan& plan,
                               const plan::JobServiceOptions& options, const std::stop_token& stop,
                               const std::function<void(const std::string&)>& waiting);

/// Rounds as jobs of a cloud, one after the other. What waits for the service does so on a thread
/// of its own. A job that was created is followed again by the next run of the loop.
class CloudBackend : public Backend {
 public:
  /// `options` outlive it.
  CloudBackend(const BackendContext& context, const plan::JobServiceOptions& options,
               Connect connect);

  /// What the service refuses is thrown: a suite that is wrong shows here.
  asio::awaitable<void> prepare() override;
  asio::awaitable<Json> describe() override;
  asio::awaitable<void> prepare_round(const RoundTask& task) override;
  asio::awaitable<RoundOutcome> run_round(const RoundTask& task) override;
  void interrupt(int times) override;
  asio::awaitable<void> close() override;

 private:
  BackendContext context_;
  const plan::JobServiceOptions& options_;
  Connect connect_;
  std::unique_ptr<CloudConnection> connection_;
  Json offered_ = Json::object();
  std::stop_source asked_;    // to end
  std::stop_source at_once_;  // the user asked again
};

}  // namespace assay::launch
