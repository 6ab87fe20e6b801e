#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "perflog/writer.h"
#include "train/base/torch.h"
#include "train/loop/task.h"

namespace assay::train {

/// The phases of a step, in order. On CUDA, `data` is the time in which the device was idle because
/// the batch was not there yet, plus its conversion.
enum class Phase { data, compute, comm, optimizer };

/// Measures the phases of steps and writes their STEP_END lines. On the CPU it does so immediately.
/// On CUDA neither host nor device waits for the step: phases come from events in the stream, the
/// loss is copied to page-locked memory, and a line is written once the device has passed its step,
/// at the latest kStepsInFlight steps later.
class StepLog {
 public:
  /// Called with every loss in order; ends the training by throwing.
  using OnLoss = std::function<void(std::int64_t step, double loss)>;

  /// Without a writer it measures and calls `on_loss`, but writes nothing.
  StepLog(perflog::Writer* writer, torch::Device device, OnLoss on_loss);

  void begin(std::int64_t step);
  /// Ends a phase; repeated phases within a step add up.
  void end(Phase phase);
  /// Reports how much of the time counted as `from` was waiting for other ranks. Only on the CPU,
  /// since a device's waiting is not the host's.
  void waited(Phase from, double seconds);
  /// Reports how much of that was for other stages of a pipeline.
  void waited_for_stages(double seconds);
  /// Reports that the step is complete on the host.
  void end_step(const BatchWork& work, const torch::Tensor& loss, double rate);
  /// Writes all outstanding lines; waits for the device.
  void flush();

  /// Seconds in all steps written so far.
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
    std::optional<double> for_stages;  // part of Phase::comm
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
