#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "live/growing_log.h"
#include "live/live_metrics.h"
#include "perflog/parser.h"
#include "telemetry/table_reader.h"

namespace assay::live {

enum class MetricName : std::uint8_t {
  throughput,
  tokens,
  loss,
  lr,
  step_time,
  data_s,
  compute_s,
  comm_s,
  optimizer_s,
  accuracy,
  util,
  memory,
  power,
  temperature,
};

/// What programs that draw curves call it, with its unit: "train/loss", "power_watts".
[[nodiscard]] std::string_view curve_tag(MetricName name);
/// The same of a trial of an experiment, where all that a rank trained is together:
/// "trial7/train/loss"; of other scopes, curve_tag().
[[nodiscard]] std::string curve_tag_of(Scope scope, int item, MetricName name);

/// The sink for readers' values. Times are Unix seconds of the controller's clock.
struct MetricSink {
  /// Of a trial of an experiment, `node` is the rank that trains it.
  std::function<void(MetricName, Scope, int node, int item, double t, double value)> value{};
  /// Done by a rank between two moments; `of_all`: it counts for all ranks.
  std::function<void(MetricName, int rank, double from, double to, double amount, bool of_all)>
      amount{};
  std::function<void(RunMark)> mark{};
  /// A step of a rank has ended: what follows until the next one is of it. May be missing.
  std::function<void(int rank, std::int64_t step)> step{};
};

/// PerfLog of one rank in one round.
struct RankReader {
 public:
  explicit RankReader(LogFile log);

  /// Reads at most `most` bytes and takes them off `left`; false: the log is another than before.
  [[nodiscard]] bool look(std::uint64_t most, double clock_offset, bool over, MetricSink& sink,
                          std::uint64_t& left);
  [[nodiscard]] const LogFile& log() const noexcept { return log_; }

 private:
  void take(const perflog::Event& event);
  void take_step(const perflog::Event& event, double t);
  void span(const char* kind, std::string_view text, double from, double to);

  LogFile log_;
  GrowingLog file_;
  std::unique_ptr<perflog::Parser> parser_;  // gone when the log is over
  std::uint64_t read_ = 0;
  MetricSink* sink_ = nullptr;
  double offset_ = 0;
  // Steps of less than a millisecond have their times from the monotonic clock.
  std::optional<double> wall_of_mono_;
  std::optional<double> last_end_;
  std::int64_t steps_ = 0;  // that have ended
  std::optional<double> init_start_;
  std::optional<double> train_start_;
};

/// Telemetry of one node in one round.
struct NodeReader {
 public:
  explicit NodeReader(TelemetryFile file) : file_(std::move(file)), log_(file_.file) {}

  [[nodiscard]] bool look(std::uint64_t most, double clock_offset, bool over, MetricSink& sink,
                          std::uint64_t& left);
  [[nodiscard]] const TelemetryFile& file() const noexcept { return file_; }

 private:
  void take(std::string_view line, double clock_offset, MetricSink& sink);

  TelemetryFile file_;
  GrowingLog log_;
  telemetry::TableReader table_;
  std::uint64_t read_ = 0;
  std::string carry_;
  bool over_ = false;
  std::map<std::uint32_t, std::pair<double, double>> powers_;  // by source: when, W
};

}  // namespace assay::live
