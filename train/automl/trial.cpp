#include "train/automl/trial.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "automl/operations.h"
#include "automl/trained_graph.h"
#include "core/error.h"
#include "core/time.h"
#include "train/loop/device.h"
#include "train/loop/image_task.h"
#include "train/loop/step_loop.h"
#include "train/loop/task_kinds.h"

namespace assay::train {
namespace {

using automl::Graph;

// Steps between two occasions on which a group's ranks agree whether to go on.
constexpr std::int64_t kAgreeEvery = 10;

// Ends a trial without an error; not derived from Error, so that nothing takes it for one.
struct Ended {};

double since(std::int64_t begin_ns) {
  return seconds(Nanoseconds(mono_now_ns() - begin_ns));
}

void check_fits(const Graph& graph, const data::ImageSetInfo& info) {
  const automl::Shape& in = graph.shapes()[0];
  if (in.flat || in.height != info.height || in.width != info.width || in.channels != info.channels)
    throw Error(
        ErrorKind::config,
        fmt::format("the graph reads {}×{}×{}, the images of '{}' are {}×{}×{}", in.height,
                    in.width, in.channels, info.name, info.height, info.width, info.channels));
  const automl::Shape& out = graph.shapes()[graph.output()];
  if (!out.flat || out.channels != info.classes)
    throw Error(ErrorKind::config, fmt::format("the graph ends in {} values, '{}' has {} classes",
                                               out.values(), info.name, info.classes));
}

// A trial's settings besides its graph.
struct TrialSettings {
  data::ImageSetOptions images;
  Settings training;
};

// Explains a key that trainings have but trials do not.
void reject_others(const workload::Options& options) try {
  options.reject_unknown();
} catch (const Error&) {
  const std::vector<workload::Workload> trainings = training_workloads();
  for (const workload::Option& option :
       workload::options_of(workload::find_workload(trainings, "resnet20"))) {
    const auto same = [&](const workload::Option& own) { return own.key == option.key; };
    if (options.has(option.key) && std::ranges::none_of(options.declared(), same))
      options.fail(option.key, fmt::format("'{}' is not for the data of an experiment", option.key),
                   "hyper-parameters and epochs come with the trial, device and threads with the "
                   "worker's configuration");
  }
  throw;
}

// An experiment's data configuration has the image workloads' options. Throws Error of kind usage
// for an invalid one.
TrialSettings read_trial(const automl::Trial& trial) {
  try {
    workload::Options options = workload::Options::from_text(dump_line(trial.data));
    options.set_defaults("{data: glyphs, nesterov: true, warmup_epochs: 0.2}");
    TrialSettings read{read_image_set(options), {}};
    Settings& training = read.training;
    read_input(training, options);
    read_method(training, options);
    read_computing(training, options);
    if (training.precision == Precision::fp8)
      options.fail("precision", "trials do not train in fp8", "use bf16");
    reject_others(options);
    training.batch_size = trial.hyper.batch_size;
    training.schedule.base = trial.hyper.learning_rate;
    training.optimizer.weight_decay = trial.hyper.weight_decay;
    training.label_smoothing = trial.hyper.label_smoothing;
    training.epochs = trial.epochs;
    training.seed = trial.seed;
    return read;
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, error.message(), "data of the experiment: " + error.where(),
                error.advice());
  }
}

}  // namespace

// One trial with everything that belongs to it.
class TrialRunner::Training {
 public:
  Training(TrialRunner& runner, const automl::Trial& trial, const Callbacks& callbacks,
           const Settings& settings, std::int64_t begin_ns, Outcome& outcome)
      : runner_(runner),
        trial_(trial),
        callbacks_(callbacks),
        settings_(settings),
        outcome_(outcome),
        begin_ns_(begin_ns),
        group_(runner.group_) {}

  void run();
  /// Counts samples of an interrupted epoch too.
  [[nodiscard]] std::int64_t trained() const {
    return loop_ ? static_cast<std::int64_t>(loop_->samples()) * group_.size() : 0;
  }

 private:
  void prepare();
  void inherit_weights(const Graph& graph);
  void train_epoch();
  [[nodiscard]] double validate(int epoch);
  void check_loss(std::int64_t step, double loss);
  [[nodiscard]] bool is_ended() const { return callbacks_.ended && callbacks_.ended(); }
  void check_step();
  void agree(bool ended);
  void build();

  TrialRunner& runner_;
  const automl::Trial& trial_;
  const Callbacks& callbacks_;
  const Settings& settings_;
  Outcome& outcome_;
  std::int64_t begin_ns_;
  TrialGroup& group_;
  std::shared_ptr<GraphModelImpl> model_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<StepLoop> loop_;
  std::int64_t asked_ = 0;
  std::string bad_loss_;
  double loss_sum_ = 0;
  double best_ = -1;
};

// Ranks that train together must end together: the others would wait for one that left.
void TrialRunner::Training::agree(bool ended) {
  const std::vector<std::int64_t> all = group_.communicator().sum(
      std::vector<std::int64_t>{ended ? 1 : 0, bad_loss_.empty() ? 0 : 1});
  if (all[0] > 0) throw Ended{};
  if (all[1] > 0)
    throw Error(ErrorKind::round_failed,
                bad_loss_.empty() ? "the loss on another device is not a number" : bad_loss_);
}

void TrialRunner::Training::check_step() {
  const bool ended = is_ended();
  if (group_.alone()) {
    if (ended) throw Ended{};
  } else if (asked_++ % kAgreeEvery == 0) {
    agree(ended);
  }
}

void TrialRunner::Training::inherit_weights(const Graph& graph) {
  const Graph parent = automl::graph_from_json(trial_.parent->graph, "the parent's graph");
  const std::optional<GraphWeights> weights = callbacks_.parent(*trial_.parent, parent);
  automl::Inherited said{trial_.trial, 0, count_tensors(model_->graph()), {}};
  if (!weights) {
    if (callbacks_.inherited) callbacks_.inherited(said);
    return;
  }
  const Inherited child = inherit(parent, *weights, trial_.parent->operations);
  if (child.graph.hash() != graph.hash())
    throw Error(ErrorKind::config, "the operations do not make this graph of its parent");
  load_weights(*model_, child.weights, fmt::format("weights of trial {}", trial_.parent->trial));
  said.tensors = count_tensors(child.weights);
  said.sha256 = weights_sha256(parent, *weights);
  if (callbacks_.inherited) callbacks_.inherited(said);
}

void TrialRunner::Training::check_loss(std::int64_t step, double loss) {
  if (!std::isfinite(loss)) {
    bad_loss_ = fmt::format("the loss of step {} is {}", step, loss);
    if (group_.alone()) throw Error(ErrorKind::round_failed, bad_loss_);
  }
  loss_sum_ += loss;
}

// If one rank fails (a parent's damaged weights), all do: the others would wait for it.
void TrialRunner::Training::prepare() {
  std::exception_ptr failure;
  try {
    build();
  } catch (...) {
    failure = std::current_exception();
  }
  const bool any = group_.any(failure != nullptr);
  if (failure) std::rethrow_exception(failure);
  if (any) throw Error(ErrorKind::round_failed, "another device of this worker cannot begin it");
  loop_ = std::make_unique<StepLoop>(
      settings_, *task_, group_.communicator(), runner_.device_, nullptr,
      [this](std::int64_t step, double loss) { check_loss(step, loss); });
  // Dropout must differ between devices.
  if (!group_.alone())
    torch::manual_seed(settings_.seed * 1'000'003 +
                       static_cast<std::uint64_t>(group_.place().rank));
  task_->start({}, trial_.epochs);
  const std::int64_t per_epoch = task_->batches_per_epoch();
  loop_->plan(per_epoch * trial_.epochs, per_epoch);
}

void TrialRunner::Training::build() {
  const Graph graph = automl::graph_from_json(trial_.graph, "the graph");
  outcome_.graph = graph;
  const Graph trained =
      automl::trained_graph(graph, trial_.hyper.kernel_size, trial_.hyper.dropout, "the graph");
  check_fits(trained, runner_.set_.info);
  const automl::Operations operations = automl::exact_operations(trained);
  torch::manual_seed(settings_.seed);
  model_ = std::make_shared<GraphModelImpl>(trained);
  if (trial_.parent && callbacks_.parent) inherit_weights(graph);
  const auto forward = [this](const torch::Tensor& x) {
    // Checked before a step begins: nothing may be thrown while one is captured as a graph.
    if (!model_->is_training() && is_ended() && group_.alone()) throw Ended{};
    return model_->forward(x);
  };
  task_ = make_image_task(
      settings_, group_.place(), runner_.device_, runner_.set_,
      {model_, forward, static_cast<double>(operations.forward + operations.backward)});
}

void TrialRunner::Training::train_epoch() {
  const std::int64_t batches = task_->batches_per_epoch();
  const StepLog& log = loop_->log();
  const double phases[3] = {log.total(Phase::data), log.total(Phase::compute),
                            log.total(Phase::optimizer)};
  loss_sum_ = 0;
  const double before = loop_->samples();
  ++runner_.epochs_;
  runner_.log_.epoch_begin(runner_.epochs_);
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    check_step();
    loop_->step();
    if (loop_->steps() == 1) loop_->parameters().check_views();
  }
  loop_->log().flush();
  if (!group_.alone()) agree(is_ended());
  const double samples = loop_->samples() - before;
  runner_.samples_ += samples;
  perflog::Step line;
  line.samples = samples;
  line.loss = loss_sum_ / static_cast<double>(batches);
  line.flops = samples * task_->flops_per_sample();
  line.lr = loop_->rate();
  line.data_s = log.total(Phase::data) - phases[0];
  line.compute_s = log.total(Phase::compute) - phases[1];
  line.optimizer_s = log.total(Phase::optimizer) - phases[2];
  runner_.log_.step_end(runner_.epochs_, line,
                        {{"trial", trial_.trial}, {"trial_steps", loop_->steps()}});
}

// Returns the loss on the held-out data.
double TrialRunner::Training::validate(int epoch) {
  const std::int64_t begin = mono_now_ns();
  Evaluation evaluation = task_->evaluate();
  evaluation.counts = group_.communicator().sum(std::move(evaluation.counts));
  evaluation.sums = group_.communicator().sum(evaluation.sums);
  automl::Done& done = outcome_.done;
  const std::int64_t total = evaluation.counts[1];
  done.validated += total;
  done.epochs = epoch;
  automl::Epoch message{trial_.trial,
                        epoch,
                        static_cast<double>(evaluation.counts[0]) / static_cast<double>(total),
                        evaluation.sums[0] / static_cast<double>(total),
                        trained(),
                        done.validated,
                        since(begin_ns_)};
  if (!std::isfinite(message.loss))
    throw Error(ErrorKind::round_failed,
                fmt::format("the loss on held-out data after epoch {} is {}", epoch, message.loss));
  runner_.log_.evaluate({{"eval_acc1", message.accuracy}, {"eval_loss", message.loss}},
                        since(begin), runner_.epochs_);
  runner_.log_.epoch_end(runner_.epochs_);
  if (message.accuracy > best_) {
    best_ = done.accuracy = message.accuracy;
    if (trial_.keep_weights && group_.leads()) outcome_.weights = weights_of(*model_);
  }
  if (callbacks_.epoch) callbacks_.epoch(message);
  return message.loss;
}

void TrialRunner::Training::run() {
  prepare();
  outcome_.done.setup_s = since(begin_ns_);
  automl::EarlyStop patience(trial_.patience);
  for (int epoch = 1; epoch <= trial_.epochs; ++epoch) {
    train_epoch();
    if (patience.tell(validate(epoch))) break;
  }
}

TrialRunner::TrialRunner(torch::Device device, std::int64_t threads, const workload::Place& place,
                         TrialGroup& group, perflog::Writer& log)
    : device_(device), threads_(threads), place_(place), group_(group), log_(log) {}

void TrialRunner::open_data(const automl::Trial& trial, const data::ImageSetOptions& images) {
  const std::string wanted = dump_line(trial.data);
  if (set_.train && wanted == opened_) return;
  try {
    set_ = data::open_image_set(images);
  } catch (const Error& error) {
    throw Error(error.kind() == ErrorKind::config ? ErrorKind::usage : error.kind(),
                error.message(), error.where(), error.advice());
  }
  opened_ = wanted;
}

TrialRunner::Outcome TrialRunner::run(const automl::Trial& trial, const Callbacks& callbacks) {
  const std::int64_t begin_ns = mono_now_ns();
  Outcome outcome;
  outcome.done.trial = trial.trial;
  const TrialSettings read = read_trial(trial);
  const Settings& settings = read.training;
  prepare_device(device_, settings.precision, threads_, place_);
  if (settings.cudnn_trials == CudnnTrials::always) try_cudnn_algorithms();
  if (settings.deterministic) be_deterministic();
  Training training(*this, trial, callbacks, settings, begin_ns, outcome);
  const auto fail = [&](std::string reason) {
    outcome.done.ok = false;
    outcome.done.reason = std::move(reason);
  };
  try {
    open_data(trial, read.images);
    training.run();
    outcome.done.ok = true;
  } catch (const Ended&) {
    fail("dropped");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config && error.kind() != ErrorKind::round_failed) throw;
    fail(error.where().empty() ? error.message() : error.where() + ": " + error.message());
  } catch (const std::exception& error) {
    fail(is_out_of_memory(error) ? fmt::format("out of memory with batch_size {}: {}",
                                               trial.hyper.batch_size, first_line(error))
                                 : first_line(error));
  }
  outcome.done.trained = training.trained();
  outcome.end_ns = mono_now_ns();
  outcome.done.seconds = seconds(Nanoseconds(outcome.end_ns - begin_ns));
  if (callbacks.over) callbacks.over(outcome.done);
  return outcome;
}

}  // namespace assay::train
