#include "train/automl/trial.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "automl/operations.h"
#include "automl/trained_graph.h"
#include "core/error.h"
#include "core/time.h"
#include "train/loop/device.h"
#include "train/loop/images.h"
#include "train/loop/step_graph.h"
#include "train/loop/step_log.h"
#include "train/loop/update.h"
#include "train/optim/flat_parameters.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"

namespace assay::train {
namespace {

using automl::Graph;

// Ends a trial without an error; not an Error, so that nothing takes it for one.
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

}  // namespace

Settings trial_settings(const automl::Trial& trial) {
  try {
    Options options = Options::from_text(dump_line(trial.data));
    for (const char* key :
         {"batch_size", "learning_rate", "weight_decay", "label_smoothing", "epochs", "max_steps",
          "seed", "device", "threads", "eval_every", "target", "data_only", "repeat_batch",
          "accumulation", "checkpoint", "resume", "ema_decay", "zero_init_residual"})
      if (options.has(key))
        options.fail(key, fmt::format("'{}' is not for the data of an experiment", key),
                     "hyper-parameters and epochs come with the trial, device and threads with the "
                     "worker's configuration");
    Settings settings = read_settings("resnet20", options);
    settings.batch_size = trial.hyper.batch_size;
    if (!options.has("eval_batch_size"))
      settings.eval_batch_size = std::max<std::int64_t>(settings.batch_size, 64);
    settings.schedule.base = trial.hyper.learning_rate;
    settings.optimizer.weight_decay = trial.hyper.weight_decay;
    settings.label_smoothing = trial.hyper.label_smoothing;
    settings.epochs = trial.epochs;
    settings.seed = trial.seed;
    return settings;
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, error.message(), "data of the experiment: " + error.where(),
                error.advice());
  }
}

// One trial: everything that goes with it.
class TrialRunner::Training {
 public:
  Training(TrialRunner& runner, const automl::Trial& trial, const Callbacks& callbacks,
           Settings settings, std::int64_t begin_ns, Outcome& outcome)
      : runner_(runner),
        trial_(trial),
        callbacks_(callbacks),
        settings_(std::move(settings)),
        outcome_(outcome),
        begin_ns_(begin_ns),
        graph_(runner.device_, settings_.cuda_graph) {}

  void run();

 private:
  [[nodiscard]] double elapsed() const { return since(begin_ns_); }
  void prepare();
  void inherit_weights(const Graph& graph);
  void train_epoch();
  void step();
  [[nodiscard]] torch::Tensor backward(double scale);
  [[nodiscard]] double validate(int epoch);
  void check_ended() const {
    if (callbacks_.ended && callbacks_.ended()) throw Ended{};
  }

  TrialRunner& runner_;
  const automl::Trial& trial_;
  const Callbacks& callbacks_;
  Settings settings_;
  Outcome& outcome_;
  std::int64_t begin_ns_;
  GraphModel model_{nullptr};
  double flops_ = 0;  // of training on one sample
  std::unique_ptr<ImageFeed> feed_;
  std::unique_ptr<data::ImageLoader> loader_;
  std::unique_ptr<FlatParameters> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Update> update_;
  std::unique_ptr<StepLog> steps_;
  StepGraph graph_;
  Images images_;
  ScheduleOptions schedule_;
  LoanRing<data::ImageLoan> loans_{kStepsInFlight + 1};
  std::int64_t step_ = 0;
  double loss_sum_ = 0;
  double best_ = -1;
};

void TrialRunner::Training::inherit_weights(const Graph& graph) {
  const Graph parent = automl::graph_from_json(trial_.parent->graph, "the parent's graph");
  const std::optional<GraphWeights> weights = callbacks_.parent(*trial_.parent, parent);
  if (!weights) return;
  const Inherited child = inherit(parent, *weights, trial_.parent->operations);
  if (child.graph.hash() != graph.hash())
    throw Error(ErrorKind::config, "the operations do not make this graph of its parent");
  load_weights(*model_, child.weights, fmt::format("weights of trial {}", trial_.parent->trial));
}

void TrialRunner::Training::prepare() {
  const Graph graph = automl::graph_from_json(trial_.graph, "the graph");
  outcome_.graph = graph;
  const Graph trained =
      automl::trained_graph(graph, trial_.hyper.kernel_size, trial_.hyper.dropout, "the graph");
  check_fits(trained, runner_.set_.info);
  const automl::Operations operations = automl::exact_operations(trained);
  flops_ = static_cast<double>(operations.forward + operations.backward);
  const torch::Device device = runner_.device_;
  torch::manual_seed(settings_.seed);
  model_ = GraphModel(trained);
  if (trial_.parent && callbacks_.parent) inherit_weights(graph);
  model_->to(device);
  model_->train();
  parameters_ = std::make_unique<FlatParameters>(*model_, settings_.channels_last);
  optimizer_ = std::make_unique<Optimizer>(*parameters_, settings_.optimizer);
  update_ = std::make_unique<Update>(settings_, *parameters_, *optimizer_);
  feed_ = std::make_unique<ImageFeed>(runner_.set_.info, device, settings_.channels_last);
  data::LoaderOptions options = loader_options(settings_, Place{}, device, data::Pass::train);
  options.epochs = trial_.epochs;
  loader_ = std::make_unique<data::ImageLoader>(runner_.set_.train, options);
  const std::int64_t per_epoch = loader_->batches_per_epoch();
  schedule_ = schedule_over(settings_, per_epoch * trial_.epochs, per_epoch);
  steps_ = std::make_unique<StepLog>(nullptr, device, [this](std::int64_t step, double loss) {
    if (!std::isfinite(loss))
      throw Error(ErrorKind::round_failed, fmt::format("the loss of step {} is {}", step, loss));
    loss_sum_ += loss;
  });
}

torch::Tensor TrialRunner::Training::backward(double scale) {
  torch::Tensor logits;
  {
    const AutocastScope autocast(runner_.device_, settings_.precision);
    logits = model_->forward(images_.x);
  }
  const torch::Tensor loss =
      torch::cross_entropy_loss(logits.to(torch::kFloat), images_.labels, {},
                                torch::Reduction::Mean, -100, settings_.label_smoothing);
  (scale == 1.0 ? loss : loss * scale).backward();
  return loss.detach();
}

void TrialRunner::Training::step() {
  check_ended();
  ++step_;
  steps_->begin(step_);
  data::ImageLoan loan = loader_->next();
  if (!loan) throw Error(ErrorKind::internal, "the training data have ended");
  images_ = feed_->prepare(*loan);
  const auto rows = static_cast<double>(loan->size);
  outcome_.done.trained += loan->size;
  if (!runner_.device_.is_cpu()) loans_.keep(std::move(loan));
  steps_->end(Phase::data);
  parameters_->zero_gradients();
  const torch::Tensor loss = graph_.run({&images_.x, &images_.labels}, update_->loss_scale(),
                                        [this](double scale) { return backward(scale); });
  steps_->end(Phase::compute);
  const double rate = learning_rate(schedule_, step_);
  update_->apply(rate);
  steps_->end(Phase::optimizer);
  steps_->end_step({rows, 0, rows * flops_}, loss, rate);
  if (step_ == 1) parameters_->check_views();
}

void TrialRunner::Training::train_epoch() {
  const std::int64_t batches = loader_->batches_per_epoch();
  const std::int64_t before = outcome_.done.trained;
  const double phases[3] = {steps_->total(Phase::data), steps_->total(Phase::compute),
                            steps_->total(Phase::optimizer)};
  loss_sum_ = 0;
  ++runner_.epochs_;
  runner_.log_.epoch_begin(runner_.epochs_);
  for (std::int64_t batch = 0; batch < batches; ++batch) step();
  steps_->flush();
  const auto samples = static_cast<double>(outcome_.done.trained - before);
  runner_.samples_ += samples;
  perflog::Step line;
  line.samples = samples;
  line.loss = loss_sum_ / static_cast<double>(batches);
  line.flops = samples * flops_;
  line.lr = learning_rate(schedule_, step_);
  line.data_s = steps_->total(Phase::data) - phases[0];
  line.compute_s = steps_->total(Phase::compute) - phases[1];
  line.optimizer_s = steps_->total(Phase::optimizer) - phases[2];
  runner_.log_.step_end(runner_.epochs_, line, {{"trial", trial_.trial}, {"trial_steps", step_}});
}

// Gives the loss on the held-out data.
double TrialRunner::Training::validate(int epoch) {
  const std::int64_t begin = mono_now_ns();
  model_->eval();
  const Evaluation evaluation =
      evaluate_images(*feed_, runner_.set_.eval,
                      loader_options(settings_, Place{}, runner_.device_, data::Pass::eval),
                      settings_.precision, [this](const torch::Tensor& x) {
                        check_ended();
                        return model_->forward(x);
                      });
  model_->train();
  automl::Done& done = outcome_.done;
  const std::int64_t total = evaluation.counts[1];
  done.validated += total;
  done.epochs = epoch;
  automl::Epoch message{trial_.trial,
                        epoch,
                        static_cast<double>(evaluation.counts[0]) / static_cast<double>(total),
                        evaluation.sums[0] / static_cast<double>(total),
                        done.trained,
                        done.validated,
                        elapsed()};
  if (!std::isfinite(message.loss))
    throw Error(ErrorKind::round_failed,
                fmt::format("the loss on held-out data after epoch {} is {}", epoch, message.loss));
  runner_.log_.evaluate({{"eval_acc1", message.accuracy}, {"eval_loss", message.loss}},
                        since(begin), runner_.epochs_);
  runner_.log_.epoch_end(runner_.epochs_);
  if (message.accuracy > best_) {
    best_ = done.accuracy = message.accuracy;
    if (trial_.keep_weights) outcome_.weights = weights_of(*model_);
  }
  if (callbacks_.epoch) callbacks_.epoch(message);
  return message.loss;
}

void TrialRunner::Training::run() {
  prepare();
  outcome_.done.setup_s = elapsed();
  automl::EarlyStop patience(trial_.patience);
  for (int epoch = 1; epoch <= trial_.epochs; ++epoch) {
    train_epoch();
    if (patience.tell(validate(epoch))) break;
  }
}

TrialRunner::TrialRunner(torch::Device device, std::int64_t threads, const Place& place,
                         perflog::Writer& log)
    : device_(device), threads_(threads), place_(place), log_(log) {}

void TrialRunner::open_data(const automl::Trial& trial, const Settings& settings) {
  const std::string wanted = dump_line(trial.data);
  if (set_.train && wanted == opened_) return;
  try {
    set_ = data::open_image_set(settings.images);
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
  const Settings settings = trial_settings(trial);
  prepare_device(device_, settings.precision, threads_, place_);
  if (settings.deterministic) be_deterministic();
  Training training(*this, trial, callbacks, settings, begin_ns, outcome);
  const auto fail = [&](std::string reason) {
    outcome.done.ok = false;
    outcome.done.reason = std::move(reason);
  };
  try {
    open_data(trial, settings);
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
  outcome.end_ns = mono_now_ns();
  outcome.done.seconds = seconds(Nanoseconds(outcome.end_ns - begin_ns));
  if (callbacks.over) callbacks.over(outcome.done);
  return outcome;
}

}  // namespace assay::train
