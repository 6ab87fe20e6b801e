#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>

#include "telemetry/recorder.h"
#include "telemetry/sampler_process.h"

namespace assay::telemetry {

/// Watts from `ipmitool dcmi power reading`; nothing if the reading is 0 or missing.
[[nodiscard]] std::optional<double> parse_dcmi_power(std::string_view text);
/// The largest reading in Watts from `ipmitool sdr list`: the node's input exceeds its parts.
[[nodiscard]] std::optional<double> parse_sdr_power(std::string_view text);

/// The whole node's power as its management controller sees it, read with ipmitool at most every
/// ten seconds. Does nothing without ipmitool or without /dev/ipmi0 under the root.
class Ipmi {
 public:
  struct Hooks {
    std::function<void(double watts, const Instant&)> on_reading;
    std::function<void(const Gap&)> on_gap;
  };

  Ipmi(asio::io_context& loop, const RecorderConfig& config, Hooks hooks);

  /// Called once per interval; starts a reading when one is due.
  void tick(std::int64_t mono_ns);
  /// Whether to expect readings.
  [[nodiscard]] bool available() const noexcept { return !program_.empty(); }
  [[nodiscard]] std::int64_t period_ns() const noexcept { return period_ns_; }
  void terminate();
  void kill() { run_.discard(); }
  void abandon() { run_.abandon(); }
  [[nodiscard]] std::vector<int> pids() const { return run_.pids(); }

 private:
  void on_result(const CommandResult& result);
  void give_up(const std::string& reason);

  Hooks hooks_;
  SamplerProcess run_;
  std::string program_;  // empty when unavailable or given up
  std::int64_t period_ns_;
  std::int64_t due_ns_ = 0;
  std::int64_t last_good_ns_ = 0;
  bool sdr_ = false;  // dcmi failed, so the sensor list is tried
  int failures_ = 0;
};

}  // namespace assay::telemetry
