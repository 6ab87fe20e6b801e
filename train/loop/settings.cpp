#include "train/loop/settings.h"

#include <algorithm>

namespace assay::train {
namespace {

using workload::Options;
using workload::per_rank;

constexpr std::int64_t kMany = 1'000'000'000;

void read_length(Settings& s, Options& options) {
  options.section("Training");
  s.batch_size =
      options
          .integer_or_auto("batch_size", 32, 1, 1 << 24,
                           "samples of one rank and one backward; more than the data hold is an "
                           "error. auto tries sizes on a CUDA device and is 32 on the CPU")
          .value_or(kAutoBatch);
  s.accumulation =
      options.integer("accumulation", 1, 1, 1 << 20,
                      "backwards per step; gradients are reduced in the last one only. More than "
                      "the data have batches is an error");
  s.epochs = options.number("epochs", 1, 0, 1e6,
                            "passes over the data; what ends first counts, 0 does not");
  s.max_steps = options.integer("max_steps", 0, 0, kMany,
                                "steps of the whole training; 0 is as many as the epochs have");
  s.eval_every = options.integer("eval_every", 0, 0, kMany,
                                 "steps between evaluations; 0 is once an epoch. There is always "
                                 "one at the end");
  s.target = options.number("target", 0, 0, 1000,
                            "ends the training when the evaluation's first quality (`acc1`, "
                            "`mlm_acc`; `loss`, which has to be at most that) reaches it; 0 is "
                            "none");
  s.seed = static_cast<std::uint64_t>(options.integer(
      "seed", 1, 0, kMany, "of initial weights, data order, augmentation, masking and dropout"));
  s.repeat_batch =
      options.flag("repeat_batch", false, "train on the first batch only: measures without input");
  s.data_only = options.flag("data_only", false,
                             "measure the input pipeline, without a model; as `--data-only`");
  s.find_batch = options.flag("find_batch", false,
                              "say what `batch_size: auto` is here, and train nothing; as "
                              "`--find-batch`");
  if (s.epochs == 0 && s.max_steps == 0)
    options.fail("epochs", "'epochs' and 'max_steps' are both 0: there is nothing to train");
}

void read_regularization(Settings& s, Options& options) {
  options.section("Optimizer");
  s.schedule.base = options.number("learning_rate", 0.1, 0, 1e6, "of the schedule, at its highest");
  s.optimizer.weight_decay =
      options.number("weight_decay", 0, 0, 10, "norms and biases are never decayed");
  s.ema_decay = options.number("ema_decay", 0, 0, 0.9999999,
                               "moving average of the parameters, which evaluations and `export` "
                               "then use; 0 is off");
}

void read_checkpoints(Settings& s, Options& options) {
  options.section("Checkpoints");
  s.checkpoint = options.text("checkpoint", "",
                              per_rank("a folder, shared by all ranks; one is written at the end, "
                                       "when the target is reached and after SIGTERM or SIGINT; "
                                       "empty is none"));
  s.checkpoint_every = options.integer("checkpoint_every", 0, 0, kMany, "and every so many steps");
  s.resume = options.flag("resume", false, "go on from the newest, if there is one");
  if (s.checkpoint.empty() && (s.resume || s.checkpoint_every > 0))
    options.fail(s.resume ? "resume" : "checkpoint_every",
                 "'resume' and 'checkpoint_every' need 'checkpoint'", "give it a folder");
  if (s.resume && s.batch_size == kAutoBatch)
    options.fail("batch_size",
                 "a training goes on with the batch size that it began with, not auto",
                 "FINISHED of its log gives it");
}

std::chrono::milliseconds read_seconds(Options& options, const char* key, double fallback,
                                       const char* about) {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(1000 * options.number(key, fallback, 1, 1e6, per_rank(about))));
}

void read_ranks(Settings& s, Options& options) {
  options.section("Ranks");
  s.bucket_bytes = static_cast<std::int64_t>(
      1048576 *
      options.number("bucket_mb", 8, 0.01, 4096, "gradients are reduced in buckets of this size"));
  s.mesh.zero = static_cast<int>(options.integer(
      "zero", 0, 0, 3,
      "what the ranks with other data share out instead of having it all: 1 is the "
      "optimizer's state, of sgd and adamw; 2 the gradients too and 3 the parameters "
      "too, of language models; 0 is nothing"));
  s.communicator.collectives = *parse_enum<Collectives>(options.choice(
      "collectives", "auto", enum_texts<Collectives>(),
      "what reduces gradients; auto is NCCL on CUDA and Gloo on the CPU; ranks with gloo may share "
      "a CUDA device"));
  s.trace = options.text("trace", "",
                         per_rank("writes when forward, backward and the all-reduce of each bucket "
                                  "began and ended in three steps, as a Chrome trace named "
                                  "`TRACE.RANK.json`; empty is none"));
  s.trace_step = options.integer("trace_step", 10, 1, kMany, per_rank("the first of these steps"));
  MembershipOptions& members = s.communicator.membership;
  members.join = read_seconds(options, "join_timeout_s", 120,
                              "for all ranks to appear; the error names the missing ones");
  members.silence = read_seconds(options, "peer_timeout_s", 30,
                                 "a rank without a sign of life for so long is lost: the others "
                                 "end with its name, 10 s later where their operation hangs");
  s.communicator.timeout =
      read_seconds(options, "collective_timeout_s", 600, "for one collective operation");
}

}  // namespace

std::string to_string(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
    case Precision::fp8:
      return "fp8";
    case Precision::fp32:
      break;
  }
  return "fp32";
}

void read_input(Settings& s, Options& options) {
  options.section("Input");
  s.loader_threads =
      options.integer("loader_threads", 1, 1, 1024, per_rank("threads that make batches"));
  s.loader_buffers =
      options.integer("loader_buffers", 6, 4, 1024, per_rank("batches that exist at once"));
  s.eval_batch_size = options.integer("eval_batch_size", 0, 0, 1 << 24,
                                      "samples of one rank in an evaluation's batch; 0 is "
                                      "max(64, `batch_size`)");
}

void read_label_smoothing(Settings& s, Options& options) {
  s.label_smoothing =
      options.number("label_smoothing", 0, 0, 0.999, "share of a label that all classes get");
}

void read_method(Settings& s, Options& options) {
  options.section("Optimizer");
  OptimizerOptions& o = s.optimizer;
  o.method = options.choice("optimizer", "sgd", optimizer_methods(),
                            "formulas in `train/optim/optimizer.h`");
  o.momentum = options.number("momentum", 0.9, 0, 1, "of sgd and lars");
  o.nesterov = options.flag("nesterov", false, "of sgd");
  o.trust = options.number("trust", 0.001, 0, 100, "of lars");
  o.beta1 = options.number("beta1", 0.9, 0, 0.999999, "of adamw and lamb");
  o.beta2 = options.number("beta2", 0.999, 0, 0.99999999, "of adamw and lamb");
  o.epsilon = options.number("epsilon", 1e-8, 0, 1, "of adamw and lamb");
  o.small_state =
      options.choice("optimizer_state", "fp32", {"fp32", "bf16"},
                     "how adamw keeps its two moments; bf16, rounded up or down by chance, saves 4 "
                     "bytes a parameter") == "bf16";
  s.clip_norm = options.number("clip_norm", 0, 0, 1e9, "global gradient norm; 0 is off");
  ScheduleOptions& schedule = s.schedule;
  schedule.shape = options.choice("schedule", "cosine", schedule_shapes(),
                                  "of the learning rate, after the warm-up");
  schedule.warmup_steps = options.integer("warmup_steps", 0, 0, kMany,
                                          "linear rise of the learning rate; 0 is by "
                                          "`warmup_epochs`");
  s.warmup_epochs = options.number("warmup_epochs", 0, 0, 1e6,
                                   "the same in epochs, at most half of the training");
  if (options.has("warmup_steps") && !options.has("warmup_epochs")) s.warmup_epochs = 0;
  schedule.final_fraction = options.number("final_lr_fraction", 0, 0, 1,
                                           "of `learning_rate`, at the end of cosine and poly");
  schedule.power = options.number("power", 1, 0, 10, "of poly");
  schedule.milestones = options.numbers("milestones", {0.5, 0.75}, 0, 1,
                                        "of step: fractions of the training, ascending");
  if (!std::is_sorted(schedule.milestones.begin(), schedule.milestones.end()))
    options.fail("milestones", "'milestones' must ascend");
  schedule.gamma = options.number("gamma", 0.1, 0, 1, "of step: factor at each milestone");
}

void read_computing(Settings& s, Options& options) {
  options.section("Computing");
  const std::string name = options.choice(
      "precision", "fp32", {"fp32", "tf32", "bf16", "fp16", "fp8"},
      "tf32, fp16 and fp8 on CUDA only; fp16 scales the loss, a step that overflows is left out; "
      "fp8 is bf16 with the products of Llama's weights in fp8, on devices that have it");
  for (const Precision precision :
       {Precision::tf32, Precision::bf16, Precision::fp16, Precision::fp8})
    if (name == to_string(precision)) s.precision = precision;
  s.channels_last = options.flag("channels_last", true, "format of images and convolutions");
  s.cuda_graph = options.flag("cuda_graph", true,
                              "on one CUDA device: forward and backward are one CUDA graph after "
                              "three plain steps");
  const std::string trials = options.choice(
      "cudnn_trials", "auto", {"auto", "always", "never"},
      "on CUDA: time convolution algorithms, which takes seconds, instead of taking those that "
      "cuDNN predicts; auto does so for 20,000 steps or more");
  s.cudnn_trials = trials == "auto"     ? CudnnTrials::automatic
                   : trials == "always" ? CudnnTrials::always
                                        : CudnnTrials::never;
  s.deterministic = options.flag("deterministic", false,
                                 "the same bits from the same settings on the same machine, also "
                                 "on CUDA, where the fastest algorithms add in any order");
}

void read_common(Settings& s, Options& options) {
  read_input(s, options);
  read_length(s, options);
  read_regularization(s, options);
  read_method(s, options);
  read_computing(s, options);
  s.device = options.choice("device", "auto", {"auto", "cpu", "cuda"},
                            per_rank("auto takes CUDA device `LOCAL_RANK` when there is one"));
  s.threads = options.integer("threads", 0, 0, 4096,
                              per_rank("of this rank on the CPU, at most 16 or four times its "
                                       "processors; 0 is `OMP_NUM_THREADS`, else its share of the "
                                       "CPUs"));
  read_checkpoints(s, options);
  read_ranks(s, options);
}

}  // namespace assay::train
