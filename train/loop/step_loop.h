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
/// measurement. The caller decides when to evaluate, save and end. Single-threaded.
class StepLoop {
 public:
  /// `communicator` is for the ranks with other data, whose model becomes the first one's. A null
  /// `log` writes nothing. All must outlive this. Throws Error if the ranks have different models.
  StepLoop(const Settings& settings, Task& task, Communicator& communicator, torch::Device device,
           perflog::Writer* log, StepLog::OnLoss on_loss);
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;

  /// Sets the learning rate's schedule; must precede the first step.
  void plan(std::int64_t total_steps, std::int64_t steps_per_epoch);
  /// Sets the last completed step of a resumed training.
  void resume_after(std::int64_t step) noexcept { step_ = step; }

  /// Performs one step. Throws what the task, the ranks and `on_loss` throw, and Error of kind
  /// round_failed after non-finite gradients.
  void step();
  /// Writes what is outstanding; call it after the last step.
  void finish();
  /// The last step begun; 0 before the first.
  [[nodiscard]] std::int64_t steps() const noexcept { return step_; }
  /// The samples that this rank has trained on, in all steps begun.
  [[nodiscard]] double samples() const noexcept { return samples_; }
  /// The last step's Update::finite(); known when `on_loss` is called.
  [[nodiscard]] bool gradients_finite() const noexcept { return update_.finite(); }
  /// The learning rate of the last step.
  [[nodiscard]] double rate() const { return learning_rate(schedule_, step_); }

  /// Runs forward and backward on this many rows made from the task's batch, without an update.
  /// Leaves gradients at 0 but changes norm statistics and random numbers. Nothing: they did not
  /// fit.
  [[nodiscard]] std::optional<BatchTrial> try_batch(std::int64_t rows);
  /// After a step that ran out of memory: the largest half, quarter, … of the last batch whose
  /// backward fits; 0 if none does.
  [[nodiscard]] std::int64_t fitting_batch();

  [[nodiscard]] FlatParameters& parameters() noexcept { return parameters_; }
  [[nodiscard]] Optimizer& optimizer() noexcept { return optimizer_; }
  [[nodiscard]] LossScaler& scaler() noexcept { return update_.scaler(); }
  [[nodiscard]] MovingAverage* average() noexcept { return average_.get(); }  ///< nullptr: none
  /// nullptr: each rank has the whole model.
  [[nodiscard]] ModelShare* shared_model() noexcept { return model_; }
  [[nodiscard]] StepGraph& graph() noexcept { return graph_; }
  [[nodiscard]] StepLog& log() noexcept { return log_; }

 private:
  void backward(bool last);
  [[nodiscard]] bool sums_itself() const { return model_ != nullptr && model_->sums_itself(); }
  [[nodiscard]] FlatRange part_of(const Communicator& communicator) const;
  void backward_alone();  // on the current batch, without the other ranks

  const Settings& settings_;
  Task& task_;
  Communicator& communicator_;
  torch::Device device_;
  bool shared_;  // divide the optimizer's state, with all parameters on all ranks
  FlatParameters parameters_;
  ModelShare* model_;                 // nullptr: each rank has the whole model
  std::unique_ptr<StepTrace> trace_;  // nullptr: not requested
  GradientReducer reducer_;
  Optimizer optimizer_;
  Update update_;
  std::unique_ptr<MovingAverage> average_;
  StepGraph graph_;
  StepLog log_;
  ScheduleOptions schedule_;
  std::int64_t step_ = 0;
  torch::Tensor loss_;
  BatchWork batch_;  // the last one taken
  BatchWork work_;   // of the step
  double samples_ = 0;
};

}  // namespace assay::train
