#pragma once

#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "core/async_process.h"

namespace assay::telemetry {

/// A sampler's processes: the current one, and earlier ones still being collected. Never blocks.
class SamplerProcess {
 public:
  explicit SamplerProcess(asio::io_context& loop) : loop_(loop) {}
  ~SamplerProcess() { discard(); }
  SamplerProcess(const SamplerProcess&) = delete;
  SamplerProcess& operator=(const SamplerProcess&) = delete;

  /// Precondition: there is no current one. In on_end's result, `err` is the end of stderr on one
  /// line. Throws like spawn().
  void start(const std::vector<std::string>& argv, RunLimits limits, AsyncProcess::Hooks hooks);
  /// Null without a current one.
  [[nodiscard]] const AsyncProcess* current() const noexcept { return current_.get(); }
  /// The processes not yet collected.
  [[nodiscard]] std::vector<int> pids() const;

  /// Sends SIGTERM to the current one and stops its callbacks.
  void terminate();
  /// Sends SIGKILL to all.
  void discard();
  /// Like discard(), but leaves behind what cannot be killed.
  void abandon();

 private:
  asio::io_context& loop_;
  std::shared_ptr<AsyncProcess> current_;
  std::vector<std::shared_ptr<AsyncProcess>> all_;
};

}  // namespace assay::telemetry
