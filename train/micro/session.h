#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/time.h"
#include "train/loop/device.h"
#include "train/micro/micro.h"
#include "workload/phase_log.h"

namespace assay::train {

/// The options common to all micro-benchmarks.
struct SessionSettings {
  explicit SessionSettings(workload::Options& options);
  std::string device;  ///< auto, cpu or cuda
  std::int64_t threads;
  double seconds;
  double step_ms;
};

/// The common parts of micro-benchmarks: device, warm-up, timed repetition, the log.
class Session {
 public:
  /// Writes INIT_START.
  Session(const SessionSettings& settings, const workload::Place& place, perflog::Writer& log,
          Collectives collectives = Collectives::automatic);

  [[nodiscard]] torch::Device device() const noexcept { return device_; }
  [[nodiscard]] int threads() const noexcept { return threads_; }
  [[nodiscard]] double budget() const noexcept { return seconds_; }
  [[nodiscard]] double step_seconds() const noexcept { return step_seconds_; }

  /// Writes INIT_END and TRAIN_START.
  void start();
  /// Throws Error of kind environment if the device is the CPU and its memory is smaller: better
  /// than being ended by the kernel.
  void require_memory(double bytes) const;

  struct Work {
    double flops = 0;  ///< per call
    double bytes = 0;
    std::string name{};  ///< `op` in its STEP_ENDs, for programs with several kinds of steps
  };
  struct Rate {
    double best = 0;    ///< calls per second, in the best step
    double mean = 0;    ///< over all steps
    double median = 0;  ///< of the steps
  };
  /// Calls `operation` for about `seconds`, in steps of as many calls as fill step_ms, each with
  /// its STEP_END (samples: calls). Waits for the device before reading the clock. `repeats` > 0
  /// fixes the number of calls per step, for ranks that must agree on it.
  Rate measure(const Work& work, double seconds, const std::function<void()>& operation,
               std::int64_t repeats = 0, std::int64_t steps = 0);

  /// The number of calls that fill step_ms, from a short trial after a warm-up.
  [[nodiscard]] std::int64_t calibrate(const std::function<void()>& operation);

  /// Reports NAME_bytes_per_s from the median step, and NAME_best_bytes_per_s.
  void bandwidth(const std::string& name, double bytes, const Rate& rate) {
    result(name + "_bytes_per_s", rate.median * bytes);
    result(name + "_best_bytes_per_s", rate.best * bytes);
  }
  void result(const std::string& name, double value) { results_.emplace_back(name, value); }
  /// Writes TRAIN_END and FINISHED; returns the exit code.
  [[nodiscard]] int finish();

 private:
  void wait() const;

  workload::Place place_;
  perflog::Writer& log_;
  workload::PhaseLog phases_;
  torch::Device device_;
  int threads_;
  double seconds_;
  double step_seconds_;
  std::int64_t begin_ns_;
  std::int64_t start_ns_ = 0;
  std::int64_t step_ = 0;
  std::vector<std::pair<std::string, double>> results_;
};

}  // namespace assay::train
