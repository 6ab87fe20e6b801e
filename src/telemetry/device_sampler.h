#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "telemetry/device_parser.h"
#include "telemetry/recorder.h"
#include "telemetry/sampler_process.h"

namespace assay::telemetry {

/// Keeps one of several device sources running: restarts it if it dies, stalls or prints garbage,
/// moves on to the next if it keeps failing, and reports both. Never blocks, never throws.
class DeviceSampler {
 public:
  struct Hooks {
    std::function<void(const DeviceReading&, const Instant&)> on_reading;
    std::function<void(const Gap&)> on_gap;
    std::function<void()> on_given_up;  ///< the source's readings are no longer valid
  };
  /// Starts of a source before the next one is used.
  static constexpr int kTries = 3;

  DeviceSampler(asio::io_context& loop, const RecorderConfig& config, Hooks hooks);
  ~DeviceSampler();
  DeviceSampler(const DeviceSampler&) = delete;
  DeviceSampler& operator=(const DeviceSampler&) = delete;

  void start();
  /// Called once per interval; runs a source of mode once again.
  void tick();
  /// Reports anything still unreported and asks the processes to end.
  void terminate();
  void kill() { drop_child(); }
  /// Kills them and leaves behind any that cannot be killed.
  void abandon();
  [[nodiscard]] bool idle() const;
  [[nodiscard]] std::vector<int> pids() const { return process_.pids(); }

 private:
  [[nodiscard]] const DeviceSource& source() const { return sources_[current_]; }
  [[nodiscard]] bool exhausted() const { return current_ >= sources_.size(); }
  void open_source();
  void launch();
  void run_once();
  void run(const RunLimits& limits, AsyncProcess::Hooks hooks);
  void on_data(std::string_view data);
  void on_sample(const CommandResult& result);
  void on_line(std::string_view line);
  void nonsense(std::string_view line);
  void deliver(DeviceReading& reading, const Instant& now);
  void fail(const std::string& reason, bool for_good);
  void give_up(const std::string& reason);
  void report(std::int64_t now_ns, std::string reason);
  void arm(std::int64_t at_ns);
  void on_timer();
  void drop_child();
  [[nodiscard]] std::int64_t stall_limit_ns() const;

  asio::steady_timer timer_;
  Hooks hooks_;
  std::vector<DeviceSource> sources_;
  std::int64_t interval_ns_;
  std::int64_t stall_ns_;
  std::size_t current_ = 0;

  std::optional<DeviceParser> parser_;
  std::vector<std::string> argv_;
  SamplerProcess process_;
  bool stopping_ = false;
  bool waiting_ = false;  // for a restart
  bool failing_ = false;  // no data since the last failure
  int failures_ = 0;
  std::int64_t started_ns_ = 0;
  std::int64_t good_since_ns_ = 0;  // first data after the last failure
  std::int64_t last_good_ns_ = 0;   // newest data of this process
  std::int64_t covered_to_ns_ = 0;  // covered up to here by data or reports
  std::string last_reason_;

  std::string line_;  // an unfinished line
  bool first_line_ = true;
  int position_ = 0;  // for the next device without an index
  std::size_t lines_in_window_ = 0;
  std::int64_t window_start_ns_ = 0;
  int nonsense_run_ = 0;
  std::size_t nonsense_total_ = 0;
  std::string first_nonsense_;
  DeviceReading reading_;
  std::vector<std::int64_t> last_by_device_;
  std::vector<std::string> device_errors_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace assay::telemetry
