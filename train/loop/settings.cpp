#include "train/loop/settings.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace assay::train {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;

// What differs between the workloads; everything else has one default for all.
Settings defaults(const std::string& workload) {
  Settings s;
  s.workload = workload;
  s.is_text = workload.starts_with("bert-");
  if (s.is_text) {
    s.bert_size = workload.substr(5);
    const bool tiny = s.bert_size == "tiny";
    s.optimizer.method = tiny ? "adamw" : "lamb";
    s.optimizer.weight_decay = 0.01;
    s.optimizer.epsilon = 1e-6;
    s.schedule.shape = tiny ? "cosine" : "poly";
    s.schedule.base = tiny ? 2e-3 : 4e-4;
    s.schedule.warmup_steps = tiny ? 20 : 100;
    s.clip_norm = 1;
    s.dropout = tiny ? 0 : 0.1;
    s.batch_size = tiny ? 32 : 8;
    s.epochs = 1;
    s.text.set = tiny ? "grammar" : "text";
    s.text.sequence = tiny ? 64 : 128;
    return s;
  }
  s.depth = std::stoi(workload.substr(6));
  const bool small = s.depth == 20 || s.depth == 32;
  s.optimizer.method = "sgd";
  s.optimizer.nesterov = small;
  s.optimizer.weight_decay = small ? 5e-4 : 5e-5;
  s.schedule.shape = "cosine";
  s.schedule.base = small ? 0.05 : 0.1;
  s.warmup_epochs = small ? 0.2 : 5;
  s.label_smoothing = small ? 0 : 0.1;
  s.batch_size = 32;
  s.epochs = small ? 2 : 90;
  s.images.set = small ? "glyphs" : "folder";
  s.images.augment = true;
  s.zero_init_residual = !small;
  return s;
}

Precision read_precision(Options& options) {
  const std::string name = options.choice("precision", "fp32", {"fp32", "tf32", "bf16", "fp16"});
  if (name == "tf32") return Precision::tf32;
  if (name == "bf16") return Precision::bf16;
  return name == "fp16" ? Precision::fp16 : Precision::fp32;
}

// Someone who gives a path means the files there.
void require_files(const std::string& set, const std::string& path, const Options& options) {
  if (!path.empty() && (set == "glyphs" || set == "grammar"))
    options.fail("path", "the data set " + set + " is generated and reads no files",
                 "leave 'path' out, or say what the files are with 'data'");
}

void read_data(Settings& s, Options& options) {
  const std::int64_t data_seed = options.integer("data_seed", 1, 0, kMany);
  const std::int64_t train_size = options.integer("train_size", 0, 0, kMany);
  const std::int64_t eval_size = options.integer("eval_size", 0, 0, kMany);
  const std::string path = options.text("path", "");
  s.loader_threads = options.integer("loader_threads", s.loader_threads, 1, 1024);
  s.loader_buffers = options.integer("loader_buffers", s.loader_buffers, 4, 1024);
  if (s.is_text) {
    data::TextSetOptions& text = s.text;
    text.set = options.choice("data", text.set, data::text_set_names());
    text.path = path;
    require_files(text.set, path, options);
    text.vocabulary = options.text("vocabulary", "");
    text.vocabulary_size = options.integer("vocabulary_size", text.vocabulary_size, 100, 1'000'000);
    text.lower_case = options.flag("lower_case", text.lower_case);
    text.sequence = options.integer("sequence", text.sequence, 16, 8192);
    text.mask_probability = options.number("mask_probability", text.mask_probability, 0.01, 0.5);
    text.masked = options.integer("max_predictions", 0, 0, 8192);
    text.seed = static_cast<std::uint64_t>(data_seed);
    text.train_size = train_size;
    text.eval_size = eval_size;
    return;
  }
  data::ImageSetOptions& images = s.images;
  images.set = options.choice("data", images.set, data::image_set_names());
  images.path = path;
  require_files(images.set, path, options);
  images.glyph_size = options.integer("glyph_size", images.glyph_size, 32, 4096);
  images.classes = options.integer("classes", 0, 0, 1'000'000);
  images.label_base = options.integer("label_base", images.label_base, 0, 1'000'000);
  images.image_size = options.integer("image_size", images.image_size, 16, 4096);
  images.augment = options.flag("augment", images.augment);
  images.label_noise = options.number("label_noise", images.label_noise, 0, 0.5);
  images.max_damaged = options.number("max_damaged", images.max_damaged, 0, 1);
  images.seed = static_cast<std::uint64_t>(data_seed);
  images.train_size = train_size;
  images.eval_size = eval_size;
}

void read_update(Settings& s, Options& options) {
  OptimizerOptions& o = s.optimizer;
  o.method = options.choice("optimizer", o.method, optimizer_methods());
  o.weight_decay = options.number("weight_decay", o.weight_decay, 0, 10);
  o.momentum = options.number("momentum", o.momentum, 0, 1);
  o.nesterov = options.flag("nesterov", o.nesterov);
  o.trust = options.number("trust", o.trust, 0, 100);
  o.beta1 = options.number("beta1", o.beta1, 0, 0.999999);
  o.beta2 = options.number("beta2", o.beta2, 0, 0.99999999);
  o.epsilon = options.number("epsilon", o.epsilon, 0, 1);
  ScheduleOptions& schedule = s.schedule;
  schedule.shape = options.choice("schedule", schedule.shape, schedule_shapes());
  schedule.base = options.number("learning_rate", schedule.base, 0, 1e6);
  schedule.warmup_steps = options.integer("warmup_steps", schedule.warmup_steps, 0, kMany);
  s.warmup_epochs =
      options.number("warmup_epochs", options.has("warmup_steps") ? 0 : s.warmup_epochs, 0, 1e6);
  schedule.final_fraction = options.number("final_lr_fraction", 0, 0, 1);
  schedule.power = options.number("power", 1, 0, 10);
  schedule.milestones = options.numbers("milestones", {0.5, 0.75}, 0, 1);
  if (!std::is_sorted(schedule.milestones.begin(), schedule.milestones.end()))
    options.fail("milestones", "'milestones' must ascend");
  schedule.gamma = options.number("gamma", 0.1, 0, 1);
  s.label_smoothing = options.number("label_smoothing", s.label_smoothing, 0, 0.999);
  s.clip_norm = options.number("clip_norm", s.clip_norm, 0, 1e9);
  s.ema_decay = options.number("ema_decay", 0, 0, 0.9999999);
}

std::chrono::milliseconds read_seconds(Options& options, const std::string& key, double fallback) {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(1000 * options.number(key, fallback, 1, 1e6)));
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
    case Precision::fp32:
      break;
  }
  return "fp32";
}

const std::vector<std::string>& training_workloads() {
  static const std::vector<std::string> names{"resnet20",  "resnet32",  "resnet18",  "resnet34",
                                              "resnet50",  "resnet101", "resnet152", "bert-tiny",
                                              "bert-base", "bert-large"};
  return names;
}

Settings read_settings(const std::string& workload, Options& options) {
  Settings s = defaults(workload);
  read_data(s, options);
  read_update(s, options);
  if (s.is_text)
    s.dropout = options.number("dropout", s.dropout, 0, 0.9);
  else
    s.zero_init_residual = options.flag("zero_init_residual", s.zero_init_residual);

  s.device = options.choice("device", "auto", {"auto", "cpu", "cuda"});
  s.threads = options.integer("threads", 0, 0, 4096);
  s.precision = read_precision(options);
  s.channels_last = options.flag("channels_last", true);
  s.cuda_graph = options.flag("cuda_graph", true);
  s.deterministic = options.flag("deterministic", false);
  s.seed = static_cast<std::uint64_t>(options.integer("seed", 1, 0, kMany));
  s.batch_size = options.integer("batch_size", s.batch_size, 1, 1 << 24);
  s.accumulation = options.integer("accumulation", 1, 1, 1 << 20);
  s.eval_batch_size = options.integer("eval_batch_size", 0, 0, 1 << 24);
  if (s.eval_batch_size == 0) s.eval_batch_size = std::max<std::int64_t>(s.batch_size, 64);
  s.epochs = options.number("epochs", s.epochs, 0, 1e6);
  s.max_steps = options.integer("max_steps", 0, 0, kMany);
  if (s.epochs == 0 && s.max_steps == 0)
    options.fail("epochs", "'epochs' and 'max_steps' are both 0: there is nothing to train");
  s.eval_every = options.integer("eval_every", s.eval_every, 0, kMany);
  s.target = options.number("target", 0, 0, 1);
  s.data_only = options.flag("data_only", false);
  s.repeat_batch = options.flag("repeat_batch", false);

  s.checkpoint = options.text("checkpoint", "");
  s.checkpoint_every = options.integer("checkpoint_every", 0, 0, kMany);
  s.resume = options.flag("resume", false);
  if (s.checkpoint.empty() && (s.resume || s.checkpoint_every > 0))
    options.fail(s.resume ? "resume" : "checkpoint_every",
                 "'resume' and 'checkpoint_every' need 'checkpoint'", "give it a folder");

  s.bucket_bytes = static_cast<std::int64_t>(options.number("bucket_mb", 8, 0.01, 4096) * 1048576);
  s.communicator.membership.join = read_seconds(options, "join_timeout_s", 120);
  s.communicator.membership.silence = read_seconds(options, "peer_timeout_s", 30);
  s.communicator.timeout = read_seconds(options, "collective_timeout_s", 600);
  options.reject_unknown();
  s.communicator.membership.terms = "workload: " + workload + "\n" + options.terms();
  return s;
}

}  // namespace assay::train
