#pragma once

#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "core/async_process.h"

namespace assay::telemetry {

/// The processes of one sampler: the current one, and those that were left and are being
/// collected. Nothing blocks.
class SamplerProcess {
 public:
  explicit SamplerProcess(asio::io_context& loop) : loop_(loop) {}
  ~SamplerProcess() { discard(); }
  SamplerProcess(const SamplerProcess&) = delete;
  SamplerProcess& operator=(const SamplerProcess&) = delete;

  /// Precondition: none is current. In the result of on_end, `err` is the end of its stderr, on one
  /// line. Throws like spawn().
  void start(const std::vector<std::string>& argv, RunLimits limits, AsyncProcess::Hooks hooks);
  /// Null when none is current.
  [[nodiscard]] const AsyncProcess* current() const noexcept { return current_.get(); }
  /// The processes that are not collected yet.
  [[nodiscard]] std::vector<int> pids() const;

  /// SIGTERM to the current one, and no more callbacks.
  void terminate();
  /// SIGKILL to all.
  void discard();
  /// discard(); what cannot be killed is left behind.
  void abandon();

 private:
  asio::io_context& loop_;
  std::shared_ptr<AsyncProcess> current_;
  std::vector<std::shared_ptr<AsyncProcess>> all_;
};

}  // namespace assay::telemetry
