#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "perflog/writer.h"
#include "train/base/torch.h"
#include "train/loop/task.h"

namespace assay::train {

/// The phases of a step, in order. On CUDA `data` is the time that the device had nothing to do
/// because the batch was not there yet, and its conversion.
enum class Phase { data, compute, comm, optimizer };

/// Measures the phases of steps and writes their STEP_END lines. On the CPU at once. On CUDA
/// without making host or device wait for the step: phases are taken from events in the stream, the
/// loss is copied to page-locked memory, and a line is written when its step has passed on the
/// device, at the latest kStepsInFlight steps later.
class StepLog {
 public:
  /// Called with every loss in order; throws to end the training.
  using OnLoss = std::function<void(std::int64_t step, double loss)>;

  /// Without a writer it measures, and calls `on_loss`, but writes nothing.
  StepLog(perflog::Writer* writer, torch::Device device, OnLoss on_loss);

  void begin(std::int64_t step);
  /// Ends a phase; phases may repeat within a step and add up.
  void end(Phase phase);
  /// So much of what was counted as `from` was waiting for other ranks. On the CPU only: a device's
  /// waiting is not the host's.
  void waited(Phase from, double seconds);
  /// So much of that was for other stages of a pipeline.
  void waited_for_stages(double seconds);
  /// The step is complete on the host.
  void end_step(const BatchWork& work, const torch::Tensor& loss, double rate);
  /// Writes everything that is outstanding; waits for the device.
  void flush();

  /// Seconds of all steps written so far.
  [[nodiscard]] double total(Phase phase) const noexcept {
    return totals_[static_cast<std::size_t>(phase)];
  }
  [[nodiscard]] double last_loss() const noexcept { return last_loss_; }

 private:
  struct Mark {
    Phase phase;
    c10::Event event;
  };
  struct Record {
    std::int64_t step = 0;
    BatchWork work;
    double rate = 0;
    torch::Tensor loss;
    double seconds[4] = {};
    std::optional<double> for_stages;  // a part of Phase::comm
    std::optional<c10::Event> start;
    std::vector<Mark> marks;
  };
  void write(Record& record);
  [[nodiscard]] bool passed(const Record& record) const;
  [[nodiscard]] c10::Event mark() const;

  perflog::Writer* writer_;
  torch::Device device_;
  OnLoss on_loss_;
  Record current_;
  std::int64_t last_ns_ = 0;
  std::deque<Record> outstanding_;
  double totals_[4] = {};
  double last_loss_ = 0;
};

}  // namespace assay::train
