#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/base/torch.h"
#include "train/mesh/mesh_groups.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"
#include "train/parallel/communicator.h"
#include "workload/options.h"
#include "workload/phase_log.h"
#include "workload/place.h"

namespace assay::train {

class Task;
struct Settings;

enum class Precision { fp32, tf32, bf16, fp16, fp8 };
[[nodiscard]] std::string to_string(Precision precision);

/// When to find the fastest of cuDNN's convolution algorithms by timing.
enum class CudnnTrials { automatic, always, never };

/// The inputs to making a task.
struct TaskSite {
  workload::Place place;  ///< among the ranks with other data
  torch::Device device = torch::kCPU;
  MeshGroups* groups = nullptr;  ///< nullptr: makes a model that is not trained
};

/// Makes a task with its own settings, which it has already read, and ends the phase "data" once
/// its data is open.
using MakeTask = std::function<std::unique_ptr<Task>(const Settings& settings, const TaskSite&,
                                                     workload::PhaseLog& phases)>;

/// For Settings::batch_size: finds a suitable size for the device by trials.
inline constexpr std::int64_t kAutoBatch = 0;

/// The settings common to all trainings; a task kind's own are in make_task. Their options are
/// declared in settings.cpp.
struct Settings {
  std::string workload;
  MakeTask make_task;

  std::int64_t loader_threads = 1;
  std::int64_t loader_buffers = 6;

  std::int64_t batch_size = kAutoBatch;  ///< per rank and backward
  std::int64_t accumulation = 1;
  std::int64_t eval_batch_size = 0;  ///< 0: as in training, but at least 64
  double epochs = 0;
  std::int64_t max_steps = 0;   ///< 0: determined by epochs
  std::int64_t eval_every = 0;  ///< in steps; 0: once per epoch
  double target = 0;            ///< for the task's first quality; 0: none
  std::uint64_t seed = 1;
  bool data_only = false;
  bool find_batch = false;    ///< only choose the batch size
  bool repeat_batch = false;  ///< train only on the first batch, without further input

  OptimizerOptions optimizer;
  ScheduleOptions schedule;  ///< the step loop sets total_steps
  double warmup_epochs = 0;  ///< used if schedule.warmup_steps is 0
  double label_smoothing = 0;
  double clip_norm = 0;
  double ema_decay = 0;

  std::string device;  ///< auto, cpu or cuda
  std::int64_t threads = 0;
  Precision precision = Precision::fp32;
  bool channels_last = true;
  bool cuda_graph = true;  ///< only on a single rank
  CudnnTrials cudnn_trials = CudnnTrials::automatic;
  bool deterministic = false;

  std::string checkpoint;  ///< a folder; empty: none
  std::int64_t checkpoint_every = 0;
  bool resume = false;
  /// Options, as in the configuration, that a resumed training must keep: its data, their order,
  /// and the optimizer.
  std::vector<std::pair<std::string, std::string>> kept;
  /// Options that determine the model's shape, to explain a difference; several may give the same.
  std::vector<std::pair<std::string, std::string>> shaping;

  Communicator::Options communicator;
  std::string trace;  ///< path of a StepTrace's files, without ".RANK.json"; empty: none
  std::int64_t trace_step = 10;
  std::int64_t bucket_bytes = 8 << 20;
  Mesh mesh;                       ///< of the ranks; `data` is the remainder
  std::int64_t micro_batches = 1;  ///< number of parts in which a batch passes the stages
};

// Groups of options, for those who train with part of them: the trials of an AutoML experiment.
void read_input(Settings& settings, workload::Options& options);   ///< how batches are made
void read_method(Settings& settings, workload::Options& options);  ///< optimizer and schedule
/// For tasks that predict classes or words and use it; others do not have the option.
void read_label_smoothing(Settings& settings, workload::Options& options);
void read_computing(Settings& settings, workload::Options& options);  ///< precision and formats

/// Reads all options that do not belong to a task. Throws Error of kind config.
void read_common(Settings& settings, workload::Options& options);

}  // namespace assay::train
