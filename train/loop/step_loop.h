#pragma once

#include <memory>
#include <optional>

#include "perflog/writer.h"
#include "train/loop/batch_search.h"
#include "train/loop/parameter_update.h"
#include "train/loop/settings.h"
#include "train/loop/step_graph.h"
#include "train/loop/step_log.h"
#include "train/loop/task.h"
#include "train/parallel/reducer.h"

namespace assay::train {

/// Trains a task step by step: batches, backward, reduction over the ranks, update, and their
/// measurement. When to evaluate, to save and to end is left to the caller. One thread.
class StepLoop {
 public:
  /// `communicator` is of the ranks with other data. Their model becomes that of the first of them.
  /// `log` may be nullptr: nothing is written then.
  /// All must outlive this. Throws Error when the ranks have different models.
  StepLoop(const Settings& settings, Task& task, Communicator& communicator, torch::Device device,
           perflog::Writer* log, StepLog::OnLoss on_loss);
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;

  /// What the learning rate follows. Before the first step.
  void plan(std::int64_t total_steps, std::int64_t steps_per_epoch);
  /// The step that was the last one, of a training that goes on.
  void resume_after(std::int64_t step) noexcept { step_ = step; }

  /// One step. Throws what the task, the ranks and `on_loss` throw, and Error of kind round_failed
  /// after gradients that are not finite.
  void step();
  /// After the last one: writes what is outstanding.
  void finish();
  /// The last one begun; 0 before the first.
  [[nodiscard]] std::int64_t steps() const noexcept { return step_; }
  /// Trained on by this rank, in all steps begun.
  [[nodiscard]] double samples() const noexcept { return samples_; }
  /// Of the last step, see Update::finite(); known when `on_loss` is called.
  [[nodiscard]] bool gradients_finite() const noexcept { return update_.finite(); }
  /// The learning rate of the last step.
  [[nodiscard]] double rate() const { return learning_rate(schedule_, step_); }

  /// Forward and backward, without an update, of so many rows made from the task's batch. Leaves
  /// gradients at zero; norm statistics and random numbers change. Nothing: they did not fit.
  [[nodiscard]] std::optional<BatchTrial> try_batch(std::int64_t rows);
  /// The largest half, quarter, … of the last batch whose backward fits into the device's memory,
  /// after a step that did not; 0 when none does.
  [[nodiscard]] std::int64_t fitting_batch();

  [[nodiscard]] FlatParameters& parameters() noexcept { return parameters_; }
  [[nodiscard]] Optimizer& optimizer() noexcept { return optimizer_; }
  [[nodiscard]] LossScaler& scaler() noexcept { return update_.scaler(); }
  [[nodiscard]] MovingAverage* average() noexcept { return average_.get(); }  ///< nullptr: none
  /// nullptr: each rank has all of the model.
  [[nodiscard]] ModelShare* shared_model() noexcept { return model_; }
  [[nodiscard]] StepGraph& graph() noexcept { return graph_; }
  [[nodiscard]] StepLog& log() noexcept { return log_; }

 private:
  void backward(bool last);
  [[nodiscard]] bool sums_itself() const { return model_ != nullptr && model_->sums_itself(); }
  [[nodiscard]] FlatRange part_of(const Communicator& communicator) const;
  void backward_alone();  // of the batch there is, without the other ranks

  const Settings& settings_;
  Task& task_;
  Communicator& communicator_;
  torch::Device device_;
  bool shared_;  // the optimizer's state, of parameters that all ranks have
  FlatParameters parameters_;
  ModelShare* model_;                 // nullptr: each rank has all of it
  std::unique_ptr<StepTrace> trace_;  // nullptr: none is wanted
  GradientReducer reducer_;
  Optimizer optimizer_;
  Update update_;
  std::unique_ptr<MovingAverage> average_;
  StepGraph graph_;
  StepLog log_;
  ScheduleOptions schedule_;
  std::int64_t step_ = 0;
  torch::Tensor loss_;
  BatchWork batch_;  // the one that was taken last
  BatchWork work_;   // of the step
  double samples_ = 0;
};

}  // namespace assay::train
