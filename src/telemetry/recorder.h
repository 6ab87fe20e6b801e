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

/// What the recorder can do. A suite may ask for 0.1 s … 60 s.
inline constexpr Nanoseconds kMinInterval = std::chrono::milliseconds(10);
inline constexpr Nanoseconds kMaxInterval = std::chrono::seconds(60);

struct RecorderConfig {
  std::filesystem::path directory;                 ///< where telemetry.csv and the monitor logs go
  Nanoseconds interval = std::chrono::seconds(1);  ///< kMinInterval … kMaxInterval
  /// In order of preference; the next one is used when one cannot be started or keeps failing.
  std::vector<DeviceSource> sources;
  std::filesystem::path root = "/";  ///< holds proc/, sys/ and dev/; a fake one in tests
  /// A sampler that is silent for this long, or for three intervals if that is more, is killed.
  Nanoseconds stall_limit = std::chrono::seconds(5);
  /// Called with the processes that compute on a device, where its sampler tells. May be empty.
  std::function<void(int device, const std::vector<int>& pids)> on_device_processes;
  /// The processes of the job as they are known now; their memory is the source "job". May be
  /// empty.
  std::function<std::vector<int>()> job_processes;
  /// Stamps the samples of this machine; a test lets its wall clock step.
  std::function<Instant()> clock = now;
};

/// A stretch of time without data, or a source that was given up.
struct Gap {
  Instant at;
  std::string source;  ///< "nvidia", "ipmi", "rapl", "node"
  double seconds = 0;
  std::string reason;
  std::string file{};  ///< evidence that could not be written; empty: none
};

/// The newest values, for heartbeats and the live view; nothing where not known.
struct Snapshot {
  std::optional<double> cpu_util;  ///< 0..1
  std::optional<double> mem_used_bytes;
  std::optional<double> power_w;      ///< all sources that do not overlap (docs/telemetry.md)
  std::optional<double> device_util;  ///< mean over devices, 0..1
  int devices = 0;
};

/// Samples this machine and its devices on absolute deadlines and appends to
/// `directory`/telemetry.csv, cpu_monitor.log, mem_monitor.log, pwr_monitor.log and the vendor's
/// monitor log. Runs on the given loop, never blocks on a device: vendor tools are child processes.
/// A full disk or a dead source is reported through on_gap; it never throws after start().
class Recorder {
 public:
  Recorder(asio::io_context& loop, RecorderConfig config, std::function<void(const Gap&)> on_gap);
  ~Recorder();  ///< stops without a last sample
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Opens the files and takes the first sample at once. Throws Error of kind environment when
  /// they cannot be written, of kind config when the interval is out of range.
  void start();
  /// Takes a last sample, ends the samplers within two seconds and closes the files; then `done`,
  /// from the loop. Calls `done` even when it was never started or is stopped already.
  void stop(std::function<void()> done);
  [[nodiscard]] Snapshot latest() const;
  /// Calls `visit` with the newest row of every source but single cores: what is too old to hold is
  /// left out, and so is what a stopped recorder knew.
  using Visit = std::function<void(std::string_view source, const Values&)>;
  void visit_rows(const Visit& visit) const;
  /// What telemetry.csv holds, hashed as it was written; nothing before start().
  [[nodiscard]] std::optional<evidence::FileRecord> table() const;
  /// Pids of the sampler processes; the agent leaves them alone when it kills a round.
  [[nodiscard]] std::vector<int> sampler_pids() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::telemetry
