#include "train/loop/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <signal.h>

#include "core/text.h"
#include "core/time.h"
#include "train/loop/agreed_stop.h"
#include "train/loop/checkpoint.h"
#include "train/loop/device.h"
#include "train/loop/not_finite.h"
#include "train/loop/step_loop.h"
#include "train/loop/task.h"
#include "workload/phase_log.h"
#include "workload/runtime.h"

namespace assay::train {
namespace {

// Timing ResNet-50's convolutions takes 2 to 11 s and shortens its steps of 31 and 63 ms by 1 to 10
// %, so it pays off after some minutes.
constexpr std::int64_t kStepsWorthTrials = 20'000;

constexpr const char* kAdvice =
    "lower learning_rate, lengthen the warm-up, set clip_norm, or use bf16 or fp32";

// The value of `batch_size: auto` there: a CPU is not limited by memory.
constexpr std::int64_t kBatchOnCpu = 32;

class Trainer {
 public:
  Trainer(const Settings& settings, const workload::Place& place, perflog::Writer& log)
      : settings_(settings),
        place_(place),
        log_(log),
        begin_ns_(mono_now_ns()),
        device_(choose_device(settings.device, place, settings.communicator.collectives)),
        threads_(prepare_device(device_, settings.precision, settings.threads, place)),
        phases_(after_device(log, begin_ns_)),
        communicator_(place, device_, settings.communicator, workload::end_with),
        groups_(communicator_, mesh_of(settings, place)) {
    phases_.end("join");
    // Captured steps contain no operations between ranks.
    if (!place.alone()) settings_.cuda_graph = false;
  }

  int find() {
    build();
    log_.finished({{"batch_size", settings_.batch_size}, {"why", std::string_view(why_batch_)}});
    return workload::exit_code(log_);
  }

  int run() {
    if (settings_.deterministic) be_deterministic();
    try {
      return run_guarded();
    } catch (const Error& error) {
      // Tells the other ranks the reason; they already know about failures caused by another rank.
      if (error.kind() != ErrorKind::round_failed || own_failure_)
        communicator_.report_failure(error.message());
      throw;
    }
  }

 private:
  [[nodiscard]] static workload::PhaseLog after_device(perflog::Writer& log,
                                                       std::int64_t begin_ns) {
    workload::PhaseLog phases(log, begin_ns);
    phases.end("device");
    return phases;
  }
  // Ranks beyond the mesh's own axes have other data.
  [[nodiscard]] static Mesh mesh_of(const Settings& settings, const workload::Place& place) {
    Mesh mesh = settings.mesh;
    if (place.world_size % mesh.replica() != 0)
      throw Error(ErrorKind::config,
                  fmt::format("{} ranks cannot be shared by tensor_parallel {} × "
                              "pipeline_parallel {}",
                              place.world_size, mesh.tensor, mesh.pipeline),
                  "WORLD_SIZE", fmt::format("start a multiple of {} ranks", mesh.replica()));
    mesh.data = place.world_size / mesh.replica();
    return mesh;
  }
  // Among the ranks with other data.
  [[nodiscard]] workload::Place data_place() const {
    workload::Place place = place_;
    place.rank = static_cast<int>(groups_.place().data);
    place.world_size = static_cast<int>(groups_.mesh().data);
    return place;
  }
  int run_guarded();
  void build();
  void prepare();
  void choose_batch();
  void try_algorithms_for(std::int64_t steps) const;
  void step();
  bool evaluate();
  void exchange_average();
  [[nodiscard]] Evaluation evaluate_share();
  void save();
  void save_stopped();
  void check_loss(std::int64_t step, double loss);
  [[nodiscard]] std::string advice_for(std::int64_t step) const;
  [[noreturn]] void not_finite(const std::string& what, const std::string& advice = kAdvice);
  [[noreturn]] void out_of_memory(const std::exception& error);
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] TrainingState state() {
    return {settings_.workload,
            task_->model(),
            loop_->parameters(),
            loop_->optimizer(),
            loop_->average(),
            device_,
            settings_.batch_size * groups_.mesh().data,
            settings_.accumulation,
            groups_.data(),
            loop_->shared_model(),
            settings_.kept,
            settings_.shaping,
            task_->train_samples(),
            data_checksum_,
            settings_.ema_decay};
  }
  void finish(std::int64_t start_ns, std::int64_t end_ns);
  // The whole model's number of parameters.
  [[nodiscard]] std::int64_t parameters() {
    if (loop_->shared_model() == nullptr) return loop_->parameters().count();
    std::int64_t count = 0;
    for (const FlatParameters::Entry& entry : loop_->shared_model()->entries()) count += entry.size;
    return count;
  }

  Settings settings_;
  workload::Place place_;
  perflog::Writer& log_;
  std::int64_t begin_ns_;
  torch::Device device_;
  int threads_;
  workload::PhaseLog phases_;
  Communicator communicator_;
  MeshGroups groups_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<StepLoop> loop_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::int64_t saved_step_ = 0;  // of the newest checkpoint; 0: none
  std::uint32_t data_checksum_ = 0;
  std::int64_t last_step_ = 0;
  std::int64_t eval_every_ = 0;
  Qualities qualities_;
  double eval_seconds_ = 0;
  bool converged_ = false;
  bool own_failure_ = false;
  std::string why_batch_;  // the reason for choosing it
};

// Builds the model and determines the batch size.
void Trainer::build() {
  torch::manual_seed(settings_.seed);
  phases_.begin();
  try {
    task_ = settings_.make_task(settings_, {data_place(), device_, &groups_}, phases_);
    loop_ = std::make_unique<StepLoop>(
        settings_, *task_, groups_.data(), device_, &log_,
        [this](std::int64_t step, double loss) { check_loss(step, loss); });
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    own_failure_ = true;
    const std::vector<std::string> savers =
        task_ ? task_->memory_savers() : std::vector<std::string>();
    throw Error(ErrorKind::environment,
                "out of memory for the parameters, their gradients and the optimizer's state: " +
                    first_line(error),
                fmt::format("rank {}", place_.rank),
                savers.empty() ? "use a smaller model or a larger device" : join(savers, ", or "));
  }
  phases_.end("model");
  if (settings_.batch_size == kAutoBatch) choose_batch();
}

void Trainer::prepare() {
  build();
  // Dropout must differ between ranks.
  torch::manual_seed(settings_.seed * 1'000'003 + static_cast<std::uint64_t>(place_.rank) + 1);
  phases_.begin();

  if (!settings_.checkpoint.empty() || !communicator_.alone())
    data_checksum_ = task_->data_checksum();
  data::Position start;
  std::uint32_t loaded_checksum = 0;
  if (!settings_.checkpoint.empty()) {
    workload::end_at_second_stop_signal();  // the first is for a checkpoint, which takes a while
    checkpoints_ = std::make_unique<Checkpoints>(settings_.checkpoint, communicator_);
    if (!settings_.resume)
      checkpoints_->leave_earlier();
    else if (const std::optional<Progress> loaded = checkpoints_->load(state())) {
      loop_->resume_after(loaded->step);
      saved_step_ = loaded->step;
      if (loop_->shared_model() != nullptr) loop_->shared_model()->updated();
      start = loaded->position;
      loaded_checksum = loaded->checksum;
      loop_->scaler().restore(loaded->scale, loaded->good_steps, loaded->skipped);
    }
    phases_.end("checkpoint");
  }
  communicator_.agree("its newest checkpoint at step", loop_->steps());
  communicator_.agree("a checkpoint whose checksum is", loaded_checksum);
  phases_.begin();
  task_->start(start);
  phases_.end("data");
  communicator_.agree("data whose number of batches is", task_->batches_per_epoch());
  communicator_.agree("data whose checksum, of some samples, is", data_checksum_);

  // A single batch is repeated as often as needed.
  if (!settings_.repeat_batch && settings_.accumulation > task_->batches_per_epoch())
    throw Error(ErrorKind::config,
                fmt::format("a step of {} batches is more than the {} of the data",
                            settings_.accumulation, task_->batches_per_epoch()),
                "accumulation", "lower it or batch_size, or give more data");
  const std::int64_t per_epoch =
      std::max<std::int64_t>(1, task_->batches_per_epoch() / settings_.accumulation);
  last_step_ = settings_.max_steps;
  const auto by_epochs =
      static_cast<std::int64_t>(std::ceil(settings_.epochs * static_cast<double>(per_epoch)));
  if (last_step_ == 0 || (settings_.epochs > 0 && by_epochs < last_step_)) last_step_ = by_epochs;
  loop_->plan(last_step_, per_epoch);
  eval_every_ = settings_.eval_every > 0 ? settings_.eval_every : per_epoch;
  if (loop_->steps() >= last_step_)
    throw Error(ErrorKind::config,
                fmt::format("the checkpoint is at step {}, the training ends at {}", loop_->steps(),
                            last_step_),
                settings_.checkpoint, "raise 'epochs' or 'max_steps'");
  if (!settings_.trace.empty() && settings_.trace_step > last_step_)
    throw Error(ErrorKind::config,
                fmt::format("the trace begins at step {}, the training ends at {}",
                            settings_.trace_step, last_step_),
                "trace_step", "give a step of the training");
  try_algorithms_for(last_step_ - loop_->steps());
}

// cuDNN keeps its choice for a shape from the first use on, so this must be decided beforehand.
void Trainer::try_algorithms_for(std::int64_t steps) const {
  if (device_.is_cuda() && !settings_.deterministic &&
      (settings_.cudnn_trials == CudnnTrials::always ||
       (settings_.cudnn_trials == CudnnTrials::automatic && steps >= kStepsWorthTrials)))
    try_cudnn_algorithms();
}

// Chooses the size that best uses this rank's device memory and fits on all ranks. The model is
// unchanged afterwards.
void Trainer::choose_batch() {
  BatchLimits limits;
  limits.most = task_->max_batch_size();
  BatchChoice choice{std::min(kBatchOnCpu, std::max<std::int64_t>(1, limits.most)),
                     "it is the CPU's"};
  if (device_.is_cuda()) {
    try_algorithms_for(settings_.max_steps);
    std::vector<torch::Tensor> kept;
    for (const torch::Tensor& buffer : task_->model().buffers()) kept.push_back(buffer.clone());
    task_->set_batch_size(std::min<std::int64_t>(8, std::max<std::int64_t>(1, limits.most)));
    task_->start({});
    task_->next();
    choice = search_batch([this](std::int64_t rows) { return loop_->try_batch(rows); }, limits,
                          [] { return seconds(Nanoseconds(mono_now_ns())); });
    torch::NoGradGuard no_grad;
    std::size_t next = 0;
    for (torch::Tensor& buffer : task_->model().buffers()) buffer.copy_(kept[next++]);
  }
  std::vector<std::int64_t> of_ranks(static_cast<std::size_t>(place_.world_size));
  of_ranks[static_cast<std::size_t>(place_.rank)] = choice.rows;
  of_ranks = communicator_.sum(std::move(of_ranks));
  settings_.batch_size = *std::ranges::min_element(of_ranks);
  task_->set_batch_size(settings_.batch_size);
  why_batch_ = settings_.batch_size < choice.rows ? "another rank can do no more" : choice.why;
  std::fprintf(stderr, "assay-train: batch_size auto is %lld: %s\n",
               static_cast<long long>(settings_.batch_size), why_batch_.c_str());
}

void Trainer::check_loss(std::int64_t step, double loss) {
  const bool finite = std::isfinite(loss);
  if (finite && loop_->gradients_finite()) return;
  if (!finite && checkpoints_) checkpoints_->withdraw(step - 1);  // its parameters caused it
  const std::string what = finite ? fmt::format("the gradients of step {} are not finite", step)
                                  : fmt::format("the loss of step {} is {}", step, loss);
  // All ranks know about non-finite gradients, and none has used them yet.
  const std::string advice = advice_for(step);
  if (loop_->gradients_finite()) not_finite(what, advice);
  not_finite(what + " (" + origin_of(loop_->parameters(), loss, communicator_) + ")", advice);
}

// Before the first step, the parameters are those that the training started from.
std::string Trainer::advice_for(std::int64_t step) const {
  const std::string weights = step == 1 ? task_->begins_with() : std::string();
  if (weights.empty()) return kAdvice;
  return fmt::format(
      "nothing has been learnt yet: see whether all values in 'weights' ({}) are finite and within "
      "the range of fp32, or use bf16 or fp32",
      weights);
}

void Trainer::not_finite(const std::string& what, const std::string& advice) {
  own_failure_ = true;
  throw Error(ErrorKind::round_failed,
              fmt::format("{}; last good checkpoint: {}", what,
                          checkpoints_ ? checkpoints_->last() : "none"),
              fmt::format("rank {}", place_.rank), advice);
}

void Trainer::step() {
  try {
    loop_->step();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) out_of_memory(error);
    throw;
  }
}

Evaluation Trainer::evaluate_share() {
  try {
    return task_->evaluate();
  } catch (const std::exception& error) {
    // A graph holds memory that the evaluation may need; without it there may be enough.
    if (!is_out_of_memory(error) || !loop_->graph().release()) throw;
  }
  return task_->evaluate();
}

// Swaps the moving average, if any, with the model; doing it twice has no effect.
void Trainer::exchange_average() {
  if (loop_->average() == nullptr) return;
  loop_->average()->swap();
  loop_->parameters().round();
  if (loop_->shared_model() != nullptr) loop_->shared_model()->updated();
}

// Returns whether the target is reached; the same on all ranks.
bool Trainer::evaluate() {
  loop_->log().flush();
  const std::int64_t begin = mono_now_ns();
  exchange_average();
  Evaluation total = evaluate_share();
  exchange_average();
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
  log_.evaluate(values, taken, loop_->steps());
  for (const auto& [name, value] : qualities_)
    if (!std::isfinite(value))
      not_finite(
          fmt::format("the evaluation's {} after step {} is {}", name, loop_->steps(), value));
  return settings_.target > 0 && task_->reached(qualities_.front().second, settings_.target);
}

Progress Trainer::progress() const {
  const LossScaler& scaler = loop_->scaler();
  return {loop_->steps(), task_->position(), scaler.scale(), scaler.good_steps(), scaler.skipped()};
}

void Trainer::save() {
  loop_->log().flush();  // a non-finite loss ends the training before its state is saved
  phases_.begin();
  // The loss was computed before the update.
  const FlatParameters& parameters = loop_->parameters();
  if (!parameters.values().isfinite().all().item<bool>())
    not_finite(fmt::format("the parameters are not finite after step {}: {}", loop_->steps(),
                           first_value_not_finite(parameters)));
  checkpoints_->save(state(), progress());
  phases_.end("checkpoint");
  saved_step_ = loop_->steps();
}

// After a signal, on all ranks after the same step.
void Trainer::save_stopped() {
  try {
    if (saved_step_ != loop_->steps()) save();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::round_failed) throw;  // ends with the signal's exit code, too
    workload::report(error);
    communicator_.report_failure(error.message());
  }
  if (place_.rank == 0)
    std::fprintf(stderr, "assay-train: stopped by %s after step %lld; last checkpoint: %s\n",
                 workload::stop_signal() == SIGTERM ? "SIGTERM" : "SIGINT",
                 static_cast<long long>(loop_->steps()), checkpoints_->last().c_str());
}

void Trainer::out_of_memory(const std::exception& error) {
  own_failure_ = true;
  std::vector<std::string> advice = task_->memory_savers();
  // Ranks that share a model cannot try individually.
  const bool tries = device_.is_cuda() && loop_->shared_model() == nullptr;
  const std::int64_t rows = tries ? loop_->fitting_batch() : 0;
  if (rows > 0)
    advice = {fmt::format("a batch_size of {} fits; raise 'accumulation' to keep the global batch",
                          rows)};
  else if (settings_.batch_size > 1 || advice.empty())
    advice.insert(advice.begin(), "lower batch_size");
  throw Error(ErrorKind::environment,
              fmt::format("out of memory in step {} with batch_size {}: {}", loop_->steps(),
                          settings_.batch_size, first_line(error)),
              fmt::format("rank {}", place_.rank), join(advice, ", or "));
}

int Trainer::run_guarded() {
  log_.init_start();
  prepare();
  log_.init_end();

  log_.train_start();
  const std::int64_t start_ns = mono_now_ns();
  const std::int64_t first_step = loop_->steps();
  AgreedStop stop(communicator_, checkpoints_ != nullptr);
  while (loop_->steps() < last_step_ && !converged_ && !stop.wanted_after(loop_->steps())) {
    step();
    const std::int64_t done = loop_->steps();
    if (done == first_step + 1) loop_->parameters().check_views();
    if (done % eval_every_ == 0 || done == last_step_) converged_ = evaluate();
    if (checkpoints_ &&
        ((settings_.checkpoint_every > 0 && done % settings_.checkpoint_every == 0) ||
         done == last_step_ || converged_))
      save();
  }
  const bool stopped = stop.wanted_at_end();
  if (stopped && checkpoints_) save_stopped();
  loop_->finish();
  const std::int64_t end_ns = mono_now_ns();
  log_.train_end();
  if (!stopped) finish(start_ns, end_ns);
  return workload::exit_code(log_);
}

void Trainer::finish(std::int64_t start_ns, std::int64_t end_ns) {
  // A task exports the model that its evaluations measure.
  exchange_average();
  task_->finish();
  exchange_average();
  std::vector<std::string> names;
  names.reserve(qualities_.size());
  const std::string precision = to_string(settings_.precision);
  const std::string device = device_.str();
  std::vector<perflog::Value> results{
      {"e2e_time", seconds(Nanoseconds(end_ns - begin_ns_))},
      {"train_time", seconds(Nanoseconds(end_ns - start_ns))},
      {"train_no_eval_time", seconds(Nanoseconds(end_ns - start_ns)) - eval_seconds_},
      {"final_train_loss", loop_->log().last_loss()},
      {"steps", loop_->steps()},
      {"batch_size", settings_.batch_size},
      {"num_trained_samples", loop_->samples() * place_.world_size},
      {"train_samples",
       task_->batches_per_epoch() * settings_.batch_size * groups_.mesh().data},  // per epoch
      {"world_size", place_.world_size},
      {"parameters", parameters()},
      {"flops_per_sample", task_->flops_per_sample()},
      {"skipped_steps", loop_->scaler().skipped()},
      {"precision", std::string_view(precision)},
      {"device", std::string_view(device)},
      {"cuda_graph", loop_->graph().replayed()},
      {"tensor_parallel", groups_.mesh().tensor},
      {"pipeline_parallel", groups_.mesh().pipeline},
      {"expert_parallel", groups_.mesh().expert},
      {"micro_batches", settings_.micro_batches},
      {"threads", threads_}};
  if (settings_.target > 0) results.emplace_back("converged", converged_);
  for (const auto& [name, value] : qualities_) {
    names.push_back("final_" + (name == "loss" ? std::string("eval_loss") : name));
    results.emplace_back(names.back(), value);
  }
  results.emplace_back("damaged_samples", task_->damaged());
  if (task_->best_quality() > 0) results.emplace_back("best_reachable", task_->best_quality());
  log_.finished(results);
}

}  // namespace

int train(const Settings& settings, const workload::Place& place, perflog::Writer& log) {
  Trainer trainer(settings, place, log);
  return trainer.run();
}

int find_batch(Settings settings, const workload::Place& place, perflog::Writer& log) {
  settings.batch_size = kAutoBatch;
  Trainer trainer(settings, place, log);
  return trainer.find();
}

int measure_data(const Settings& settings, const workload::Place& place, perflog::Writer& log) {
  log.init_start();
  torch::manual_seed(settings.seed);
  // Ranks need not communicate: each reads its share.
  const torch::Device device = choose_device(settings.device, place);
  workload::PhaseLog phases(log);
  const std::unique_ptr<Task> task = settings.make_task(settings, {place, device, nullptr}, phases);
  phases.end("model");
  if (settings.batch_size == kAutoBatch) task->set_batch_size(kBatchOnCpu);
  task->start({});
  phases.end("data");
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
  for (std::int64_t batch = 1; batch <= batches && workload::stop_signal() == 0; ++batch) {
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
  if (workload::stop_signal() == 0)
    log.finished({{"train_time", taken},
                  {"samples_per_second", taken > 0 ? samples / taken : 0},
                  {"damaged_samples", task->damaged()},
                  {"loader_threads", settings.loader_threads},
                  {"world_size", place.world_size}});
  return workload::exit_code(log);
}

}  // namespace assay::train
