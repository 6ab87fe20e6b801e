#include "train/loop/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "core/time.h"
#include "train/loop/checkpoint.h"
#include "train/loop/device.h"
#include "train/loop/runtime.h"
#include "train/loop/step_graph.h"
#include "train/loop/step_log.h"
#include "train/loop/task.h"
#include "train/loop/update.h"
#include "train/optim/optimizer.h"
#include "train/parallel/reducer.h"

namespace assay::train {
namespace {

class Trainer {
 public:
  Trainer(const Settings& settings, const Place& place, perflog::Writer& log)
      : settings_(settings),
        place_(place),
        log_(log),
        begin_ns_(mono_now_ns()),
        device_(choose_device(settings.device, place)),
        threads_(prepare_device(device_, settings.precision, settings.threads, place)),
        communicator_(place, device_, settings.communicator, end_with),
        graph_(device_, settings.cuda_graph && communicator_.alone()) {}

  int run() {
    if (settings_.deterministic) be_deterministic();
    try {
      return run_guarded();
    } catch (const Error& error) {
      // The others learn why; a failure that another rank caused, they know already.
      if (error.kind() != ErrorKind::round_failed || own_failure_)
        communicator_.report_failure(error.message());
      throw;
    }
  }

 private:
  int run_guarded();
  void prepare();
  void step();
  void backward(bool last);
  bool evaluate();
  [[nodiscard]] Evaluation evaluate_share();
  void save();
  void check_loss(std::int64_t step, double loss);
  [[noreturn]] void not_finite(const std::string& what);
  [[noreturn]] void out_of_memory(const std::exception& error);
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] TrainingState state() {
    return {settings_.workload, task_->model(), *parameters_, *optimizer_, average_.get(), device_};
  }

  Settings settings_;
  Place place_;
  perflog::Writer& log_;
  std::int64_t begin_ns_;
  torch::Device device_;
  int threads_;
  Communicator communicator_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<FlatParameters> parameters_;
  std::unique_ptr<GradientReducer> reducer_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<MovingAverage> average_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<StepLog> steps_;
  std::unique_ptr<Update> update_;
  StepGraph graph_;
  std::int64_t step_ = 0;
  std::int64_t last_step_ = 0;
  std::int64_t eval_every_ = 0;
  torch::Tensor loss_;
  BatchWork batch_;  // the one that was taken last
  BatchWork work_;   // of the step
  Qualities qualities_;
  double eval_seconds_ = 0;
  bool converged_ = false;
  bool own_failure_ = false;
};

void Trainer::prepare() {
  torch::manual_seed(settings_.seed);
  task_ = make_task(settings_, place_, device_);
  parameters_ = std::make_unique<FlatParameters>(task_->model(),
                                                 settings_.channels_last && !settings_.is_text);
  communicator_.agree("a model whose number of parameters is", parameters_->count());
  communicator_.broadcast(parameters_->values());
  for (torch::Tensor& buffer : task_->model().buffers()) communicator_.broadcast(buffer);
  reducer_ = std::make_unique<GradientReducer>(*parameters_, communicator_, settings_.bucket_bytes);
  optimizer_ = std::make_unique<Optimizer>(*parameters_, settings_.optimizer);
  update_ = std::make_unique<Update>(settings_, *parameters_, *optimizer_);
  if (settings_.ema_decay > 0)
    average_ = std::make_unique<MovingAverage>(*parameters_, settings_.ema_decay);
  // Dropout differs between ranks.
  torch::manual_seed(settings_.seed * 1'000'003 + static_cast<std::uint64_t>(place_.rank) + 1);
  steps_ = std::make_unique<StepLog>(
      &log_, device_, [this](std::int64_t step, double loss) { check_loss(step, loss); });

  data::Position start;
  if (!settings_.checkpoint.empty()) {
    checkpoints_ = std::make_unique<Checkpoints>(settings_.checkpoint, communicator_);
    if (settings_.resume)
      if (const std::optional<Progress> loaded = checkpoints_->load(state())) {
        step_ = loaded->step;
        start = loaded->position;
        update_->scaler().restore(loaded->scale, loaded->good_steps, loaded->skipped);
      }
  }
  communicator_.agree("its newest checkpoint at step", step_);
  task_->start(start);
  communicator_.agree("data whose number of batches is", task_->batches_per_epoch());

  const std::int64_t per_epoch =
      std::max<std::int64_t>(1, task_->batches_per_epoch() / settings_.accumulation);
  last_step_ = settings_.max_steps;
  const auto by_epochs =
      static_cast<std::int64_t>(std::ceil(settings_.epochs * static_cast<double>(per_epoch)));
  if (last_step_ == 0 || (settings_.epochs > 0 && by_epochs < last_step_)) last_step_ = by_epochs;
  settings_.schedule = schedule_over(settings_, last_step_, per_epoch);
  eval_every_ = settings_.eval_every > 0 ? settings_.eval_every : per_epoch;
  if (step_ >= last_step_)
    throw Error(
        ErrorKind::config,
        fmt::format("the checkpoint is at step {}, the training ends at {}", step_, last_step_),
        settings_.checkpoint, "raise 'epochs' or 'max_steps'");
}

void Trainer::check_loss(std::int64_t step, double loss) {
  if (std::isfinite(loss)) return;
  if (checkpoints_) checkpoints_->withdraw(step - 1);  // whose parameters gave this loss
  not_finite(fmt::format("the loss of step {} is {}", step, loss));
}

void Trainer::not_finite(const std::string& what) {
  own_failure_ = true;
  throw Error(ErrorKind::round_failed,
              fmt::format("{}; last good checkpoint: {}", what,
                          checkpoints_ ? checkpoints_->last() : "none"),
              fmt::format("rank {}", place_.rank),
              "lower learning_rate, lengthen the warm-up, set clip_norm, or use bf16 or fp32");
}

void Trainer::backward(bool last) {
  if (!settings_.repeat_batch || batch_.samples == 0) batch_ = task_->next();
  work_.samples += batch_.samples;
  work_.tokens += batch_.tokens;
  work_.flops += batch_.flops;
  steps_->end(Phase::data);
  reducer_->begin(last);
  // Each backward adds its part of the mean over all samples of all ranks.
  const double scale =
      update_->loss_scale() / static_cast<double>(settings_.accumulation * place_.world_size);
  const torch::Tensor loss = graph_.run(task_->inputs(), scale, [this](double factor) {
    const torch::Tensor mean = task_->loss();
    (factor == 1.0 ? mean : mean * factor).backward();
    return mean.detach();
  });
  steps_->end(Phase::compute);
  loss_ = loss_.defined() ? loss_ + loss : loss;
}

void Trainer::step() {
  ++step_;
  work_ = {};
  loss_ = torch::Tensor();
  steps_->begin(step_);
  parameters_->zero_gradients();
  for (std::int64_t part = 1; part <= settings_.accumulation; ++part)
    backward(part == settings_.accumulation);
  reducer_->finish();
  steps_->end(Phase::comm);
  if (update_->apply(learning_rate(settings_.schedule, step_)) && average_) average_->update();
  steps_->end(Phase::optimizer);
  if (settings_.accumulation > 1) loss_ = loss_ / static_cast<double>(settings_.accumulation);
  steps_->end_step(work_, loss_, learning_rate(settings_.schedule, step_));
}

Evaluation Trainer::evaluate_share() {
  try {
    return task_->evaluate();
  } catch (const std::exception& error) {
    // A graph keeps memory that the evaluation may need; without one there would be enough.
    if (!is_out_of_memory(error) || !graph_.release()) throw;
  }
  return task_->evaluate();
}

// Gives whether the target is reached; the same on all ranks.
bool Trainer::evaluate() {
  steps_->flush();
  const std::int64_t begin = mono_now_ns();
  if (average_) average_->swap();
  Evaluation total = evaluate_share();
  if (average_) average_->swap();
  total.counts = communicator_.sum(std::move(total.counts));
  total.sums = communicator_.sum(total.sums);
  qualities_ = task_->qualities(total);
  const double taken = seconds(Nanoseconds(mono_now_ns() - begin));
  eval_seconds_ += taken;
  std::vector<std::string> names;
  names.reserve(qualities_.size());
  std::vector<perflog::Value> values;
  for (const auto& [name, value] : qualities_) {
    names.push_back("eval_" + name);
    values.emplace_back(names.back(), value);
  }
  log_.evaluate(values, taken, step_);
  for (const auto& [name, value] : qualities_)
    if (!std::isfinite(value))
      not_finite(fmt::format("the evaluation's {} after step {} is {}", name, step_, value));
  return settings_.target > 0 && qualities_.front().second >= settings_.target;
}

Progress Trainer::progress() const {
  const LossScaler& scaler = update_->scaler();
  return {step_, task_->position(), scaler.scale(), scaler.good_steps(), scaler.skipped()};
}

void Trainer::save() {
  steps_->flush();  // a loss that is not finite ends the training before its state is kept
  // The loss was computed before the update.
  if (!parameters_->values().isfinite().all().item<bool>())
    not_finite(fmt::format("the parameters are not finite after step {}", step_));
  checkpoints_->save(state(), progress());
}

void Trainer::out_of_memory(const std::exception& error) {
  own_failure_ = true;
  std::string advice = "lower batch_size";
  if (device_.is_cuda()) {
    graph_.release();
    // The largest half, quarter, … of the batch whose backward fits.
    loss_ = torch::Tensor();
    for (std::int64_t rows = task_->halve(); rows > 0; rows = task_->halve()) {
      try {
        reducer_->begin(false);
        task_->loss().backward();
        torch::cuda::synchronize(device_.index());
        advice = fmt::format(
            "a batch_size of {} fits; raise 'accumulation' to keep the global batch", rows);
        break;
      } catch (const std::exception& again) {
        if (!is_out_of_memory(again)) break;
      }
    }
  }
  throw Error(ErrorKind::environment,
              fmt::format("out of memory in step {} with batch_size {}: {}", step_,
                          settings_.batch_size, first_line(error)),
              fmt::format("rank {}", place_.rank), advice);
}

int Trainer::run_guarded() {
  log_.init_start();
  prepare();
  log_.init_end();

  log_.train_start();
  const std::int64_t start_ns = mono_now_ns();
  const std::int64_t first_step = step_;
  double samples = 0;
  while (step_ < last_step_ && stop_signal() == 0 && !converged_) {
    try {
      step();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      if (is_out_of_memory(error)) out_of_memory(error);
      throw;
    }
    if (step_ == first_step + 1) parameters_->check_views();
    samples += work_.samples;
    if (step_ % eval_every_ == 0 || step_ == last_step_) converged_ = evaluate();
    if (checkpoints_ &&
        ((settings_.checkpoint_every > 0 && step_ % settings_.checkpoint_every == 0) ||
         step_ == last_step_ || converged_))
      save();
  }
  steps_->flush();
  const std::int64_t end_ns = mono_now_ns();
  log_.train_end();
  if (stop_signal() != 0) return exit_code(log_);

  std::vector<std::string> names;
  names.reserve(qualities_.size());
  const std::string precision = to_string(settings_.precision);
  const std::string device = device_.str();
  std::vector<perflog::Value> results{
      {"converged", settings_.target > 0 ? converged_ : true},
      {"e2e_time", seconds(Nanoseconds(end_ns - begin_ns_))},
      {"train_time", seconds(Nanoseconds(end_ns - start_ns))},
      {"train_no_eval_time", seconds(Nanoseconds(end_ns - start_ns)) - eval_seconds_},
      {"final_train_loss", steps_->last_loss()},
      {"steps", step_},
      {"num_trained_samples", samples * place_.world_size},
      {"world_size", place_.world_size},
      {"parameters", parameters_->count()},
      {"flops_per_sample", task_->flops_per_sample()},
      {"skipped_steps", update_->scaler().skipped()},
      {"precision", std::string_view(precision)},
      {"device", std::string_view(device)},
      {"cuda_graph", graph_.replayed()},
      {"threads", threads_}};
  for (const auto& [name, value] : qualities_) {
    names.push_back("final_" + (name == "loss" ? std::string("eval_loss") : name));
    results.emplace_back(names.back(), value);
  }
  results.emplace_back("damaged_samples", task_->damaged());
  if (task_->best_quality() > 0) results.emplace_back("best_reachable", task_->best_quality());
  log_.finished(results);
  return exit_code(log_);
}

}  // namespace

int train(const Settings& settings, const Place& place, perflog::Writer& log) {
  Trainer trainer(settings, place, log);
  return trainer.run();
}

int measure_data(const Settings& settings, const Place& place, perflog::Writer& log) {
  log.init_start();
  torch::manual_seed(settings.seed);
  // Ranks need not know of each other: each reads its share.
  const torch::Device device = choose_device(settings.device, place);
  const std::unique_ptr<Task> task = make_task(settings, place, device);
  task->start({});
  const std::int64_t batches =
      settings.max_steps > 0
          ? settings.max_steps
          : static_cast<std::int64_t>(
                std::ceil(settings.epochs * static_cast<double>(task->batches_per_epoch())));
  log.init_end();
  log.train_start();
  const std::int64_t start = mono_now_ns();
  double samples = 0;
  std::int64_t before = start;
  for (std::int64_t batch = 1; batch <= batches && stop_signal() == 0; ++batch) {
    BatchWork work;
    if (!task->skip(work)) break;
    const std::int64_t now = mono_now_ns();
    perflog::Step step;
    step.samples = work.samples;
    if (work.tokens > 0) step.tokens = work.tokens;
    step.data_s = seconds(Nanoseconds(now - before));
    before = now;
    samples += work.samples;
    log.step_end(batch, step);
  }
  const double taken = seconds(Nanoseconds(mono_now_ns() - start));
  log.train_end();
  if (stop_signal() == 0)
    log.finished({{"converged", true},
                  {"train_time", taken},
                  {"samples_per_second", taken > 0 ? samples / taken : 0},
                  {"damaged_samples", task->damaged()},
                  {"loader_threads", settings.loader_threads},
                  {"world_size", place.world_size}});
  return exit_code(log);
}

}  // namespace assay::train
