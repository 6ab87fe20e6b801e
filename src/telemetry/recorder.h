#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/io_context.hpp>

#include "core/time.h"
#include "evidence/file_record.h"
#include "telemetry/columns.h"
#include "telemetry/device_source.h"

namespace assay::telemetry {

/// The recorder's limits. A suite may ask for 0.1 s … 60 s.
inline constexpr Nanoseconds kMinInterval = std::chrono::milliseconds(10);
inline constexpr Nanoseconds kMaxInterval = std::chrono::seconds(60);

struct RecorderConfig {
  std::filesystem::path directory;                 ///< for telemetry.csv and the monitor logs
  Nanoseconds interval = std::chrono::seconds(1);  ///< kMinInterval … kMaxInterval
  /// In order of preference; the next one is used if a source cannot be started or keeps failing.
  std::vector<DeviceSource> sources;
  std::filesystem::path root = "/";  ///< contains proc/, sys/ and dev/; a fake one in tests
  /// A sampler is killed if it is silent for this long, and for at least three intervals.
  Nanoseconds stall_limit = std::chrono::seconds(5);
  /// Called with the processes computing on a device, if its sampler reports them. May be empty.
  std::function<void(int device, const std::vector<int>& pids)> on_device_processes;
  /// The job's currently known processes; their memory is the source "job". May be empty.
  std::function<std::vector<int>()> job_processes;
  /// Stamps this machine's samples; lets a test step the wall clock.
  std::function<Instant()> clock = now;
};

/// A period without data, or a source that was given up.
struct Gap {
  Instant at;
  std::string source;  ///< "nvidia", "ipmi", "rapl", "node"
  double seconds = 0;
  std::string reason;
  std::string file{};  ///< evidence that could not be written; empty if none
};

/// The newest values, for heartbeats and the live view; nothing where unknown.
struct Snapshot {
  std::optional<double> cpu_util;  ///< 0..1
  std::optional<double> mem_used_bytes;
  std::optional<double> power_w;      ///< all non-overlapping sources (docs/telemetry.md)
  std::optional<double> device_util;  ///< mean over devices, 0..1
  int devices = 0;
};

/// Samples this machine and its devices on absolute deadlines and appends to
/// `directory`/telemetry.csv, cpu_monitor.log, mem_monitor.log, pwr_monitor.log and the vendor's
/// monitor log. Runs on the given loop and never blocks on a device: vendor tools are child
/// processes. Reports a full disk or a dead source through on_gap; never throws after start().
class Recorder {
 public:
  Recorder(asio::io_context& loop, RecorderConfig config, std::function<void(const Gap&)> on_gap);
  ~Recorder();  ///< stops without a final sample
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Opens the files and takes the first sample at once. Throws Error of kind environment if they
  /// cannot be written, of kind config if the interval is out of range.
  void start();
  /// Takes a final sample, ends the samplers within two seconds and closes the files; then calls
  /// `done` from the loop, even if it was never started or has already stopped.
  void stop(std::function<void()> done);
  [[nodiscard]] Snapshot latest() const;
  /// Calls `visit` with the newest row of every source except single cores; leaves out rows that
  /// are too old to hold, and those of a stopped recorder.
  using Visit = std::function<void(std::string_view source, const Values&)>;
  void visit_rows(const Visit& visit) const;
  /// telemetry.csv's content, hashed as it was written; nothing before start().
  [[nodiscard]] std::optional<evidence::FileRecord> table() const;
  /// The sampler processes' pids, which the agent spares when it kills a round.
  [[nodiscard]] std::vector<int> sampler_pids() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::telemetry
