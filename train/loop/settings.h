#pragma once

#include <string>
#include <vector>

#include "train/data/image_set.h"
#include "train/data/text_set.h"
#include "train/loop/options.h"
#include "train/models/bert.h"
#include "train/models/resnet.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"
#include "train/parallel/communicator.h"

namespace assay::train {

enum class Precision { fp32, tf32, bf16, fp16 };
[[nodiscard]] std::string to_string(Precision precision);

/// Everything that decides a training. docs/training.md is its reference.
struct Settings {
  std::string workload;
  bool is_text = false;

  // Model and data.
  int depth = 0;          ///< of a ResNet
  std::string bert_size;  ///< of a BERT
  bool zero_init_residual = false;
  double dropout = 0;
  data::ImageSetOptions images;
  data::TextSetOptions text;
  std::int64_t loader_threads = 1;
  std::int64_t loader_buffers = 6;

  // How.
  std::string device;  ///< auto, cpu or cuda
  std::int64_t threads = 0;
  Precision precision = Precision::fp32;
  bool channels_last = true;
  bool cuda_graph = true;  ///< on one rank
  bool deterministic = false;
  std::uint64_t seed = 1;
  std::int64_t batch_size = 0;  ///< of one rank and one backward
  std::int64_t accumulation = 1;
  std::int64_t eval_batch_size = 0;
  double epochs = 0;
  std::int64_t max_steps = 0;   ///< 0: epochs decide
  std::int64_t eval_every = 0;  ///< steps; 0: once an epoch
  double target = 0;            ///< of the task's accuracy; 0: none
  bool data_only = false;
  bool repeat_batch = false;  ///< train on the first batch only: no input after it

  OptimizerOptions optimizer;
  ScheduleOptions schedule;  ///< total_steps is set by the trainer
  double warmup_epochs = 0;  ///< instead of schedule.warmup_steps
  double label_smoothing = 0;
  double clip_norm = 0;
  double ema_decay = 0;

  std::string checkpoint;  ///< a folder; empty: none
  std::int64_t checkpoint_every = 0;
  bool resume = false;

  Communicator::Options communicator;
  std::int64_t bucket_bytes = 8 << 20;
};

/// The workloads that train a model.
[[nodiscard]] const std::vector<std::string>& training_workloads();

/// The workload's defaults, changed by `options`. Throws Error of kind config.
[[nodiscard]] Settings read_settings(const std::string& workload, Options& options);

}  // namespace assay::train
