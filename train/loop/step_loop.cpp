#include "train/loop/step_loop.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/time.h"
#include "train/loop/device.h"

namespace assay::train {

namespace {

std::unique_ptr<StepTrace> make_trace(const Settings& settings, int rank, torch::Device device) {
  if (settings.trace.empty()) return nullptr;
  return std::make_unique<StepTrace>(settings.trace + "." + std::to_string(rank) + ".json", rank,
                                     device, settings.trace_step);
}

GradientReducer::RanksOf ranks_of(ModelShare* model) {
  if (model == nullptr) return {};
  return [model](const FlatParameters::Entry& entry) -> Communicator& {
    return model->ranks_of(entry);
  };
}

}  // namespace

StepLoop::StepLoop(const Settings& settings, Task& task, Communicator& communicator,
                   torch::Device device, perflog::Writer* log, StepLog::OnLoss on_loss)
    : settings_(settings),
      task_(task),
      communicator_(communicator),
      device_(device),
      shared_(settings.mesh.zero == 1 && settings.mesh.expert == 1 && !communicator.alone()),
      parameters_(task.model(), settings.channels_last, shared_ ? communicator.world_size() : 1),
      model_(task.share(parameters_)),
      trace_(make_trace(settings, communicator.rank(), device)),
      reducer_(parameters_, communicator, settings.bucket_bytes, trace_.get(), ranks_of(model_)),
      optimizer_(parameters_, settings.optimizer, part_of(communicator)),
      update_(settings, parameters_, optimizer_, model_),
      graph_(device, settings.cuda_graph && communicator.alone()),
      log_(log, device, std::move(on_loss)) {
  communicator.agree("a model whose number of parameters is", parameters_.count());
  if (model_ != nullptr)
    model_->broadcast();
  else
    communicator.broadcast(parameters_.values());
  for (torch::Tensor& buffer : task.model().buffers()) communicator.broadcast(buffer);
  task.bind(parameters_);
  if (settings.ema_decay > 0)
    average_ = std::make_unique<MovingAverage>(parameters_, settings.ema_decay);
}

// The range of parameters that this rank updates.
FlatRange StepLoop::part_of(const Communicator& communicator) const {
  if (!shared_) return {0, parameters_.size()};
  const std::int64_t size = parameters_.size() / communicator.world_size();
  return {communicator.rank() * size, size};
}

void StepLoop::plan(std::int64_t total_steps, std::int64_t steps_per_epoch) {
  schedule_ = schedule_over(settings_, total_steps, steps_per_epoch);
}

void StepLoop::backward(bool last) {
  if (!settings_.repeat_batch || batch_.samples == 0) batch_ = task_.next();
  samples_ += batch_.samples;
  work_.samples += batch_.samples;
  work_.tokens += batch_.tokens;
  work_.flops += batch_.flops;
  log_.end(Phase::data);
  const double waited = communicator_.waited();
  const std::optional<double> for_stages = task_.waited_for_stages();
  reducer_.begin(false);
  if (trace_) trace_->begin_backward();
  // Each backward adds its part of the mean over all samples on all ranks.
  const double scale = update_.loss_scale() /
                       static_cast<double>(settings_.accumulation * communicator_.world_size());
  const torch::Tensor loss = graph_.run(task_.inputs(), scale, [this, last](double factor) {
    return task_.backward(factor, [this, last] { reducer_.begin(last && !sums_itself()); });
  });
  if (trace_) trace_->end_backward();
  log_.end(Phase::compute);
  log_.waited(Phase::compute, communicator_.waited() - waited);
  if (for_stages) log_.waited_for_stages(*task_.waited_for_stages() - *for_stages);
  loss_ = loss_.defined() ? loss_ + loss : loss;
}

void StepLoop::step() {
  ++step_;
  work_ = {};
  loss_ = torch::Tensor();
  if (trace_) trace_->begin_step(step_);
  log_.begin(step_);
  parameters_.zero_gradients();
  for (std::int64_t part = 1; part <= settings_.accumulation; ++part)
    backward(part == settings_.accumulation);
  reducer_.finish();
  if (model_ != nullptr) model_->sum_gradients();
  log_.end(Phase::comm);
  const bool counts = update_.apply(rate());
  if (counts && model_ != nullptr) model_->updated();
  if (shared_ && counts) {
    log_.end(Phase::optimizer);
    communicator_.all_gather(parameters_.values());
    parameters_.round();
    log_.end(Phase::comm);
  }
  if (counts && average_) average_->update();
  log_.end(Phase::optimizer);
  if (settings_.accumulation > 1) loss_ = loss_ / static_cast<double>(settings_.accumulation);
  log_.end_step(work_, loss_, rate());
  if (!update_.finite())
    throw Error(ErrorKind::round_failed,
                fmt::format("the gradients of step {} are not finite", step_));
}

void StepLoop::finish() {
  log_.flush();
  if (trace_) trace_->finish();
}

void StepLoop::backward_alone() {
  reducer_.begin(false);
  static_cast<void>(task_.backward(1, [] {}));
  if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
}

std::optional<BatchTrial> StepLoop::try_batch(std::int64_t rows) {
  constexpr int kTimed = 4;
  BatchTrial trial;
  std::optional<std::string> failure;
  DeviceMemory memory(device_);
  try {
    task_.resize(rows);
    backward_alone();  // chooses algorithms and allocates memory
    for (int i = 0; i < kTimed; ++i) {
      const std::int64_t begin = mono_now_ns();
      backward_alone();
      const double taken = seconds(Nanoseconds(mono_now_ns() - begin));
      // Disturbances only make a step longer.
      trial.seconds = i == 0 ? taken : std::min(trial.seconds, taken);
    }
    trial.memory_share = memory.peak_share();
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    failure = first_line(error);
  }
  parameters_.zero_gradients();
  memory.give_back();
  return failure ? std::nullopt : std::optional(trial);
}

std::int64_t StepLoop::fitting_batch() {
  graph_.release();
  loss_ = torch::Tensor();
  for (std::int64_t rows = task_.rows() / 2; rows > 0; rows /= 2) {
    try {
      task_.resize(rows);
      backward_alone();
      return rows;
    } catch (const std::exception& again) {
      if (!is_out_of_memory(again)) break;
    }
  }
  return 0;
}

}  // namespace assay::train
