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

/// When the fastest of cuDNN's convolution algorithms are found by timing them.
enum class CudnnTrials { automatic, always, never };

/// Where a task is made.
struct TaskSite {
  workload::Place place;  ///< among the ranks with other data
  torch::Device device = torch::kCPU;
  MeshGroups* groups = nullptr;  ///< nullptr: a model is made, but not trained
};

/// Makes a task with the settings of its own that it has read, and ends the phase "data" when its
/// data are open.
using MakeTask = std::function<std::unique_ptr<Task>(const Settings& settings, const TaskSite&,
                                                     workload::PhaseLog& phases)>;

/// Of Settings::batch_size: the one that suits the device is found by trials.
inline constexpr std::int64_t kAutoBatch = 0;

/// What every training has; what a kind of task adds is in make_task. The options that
/// give it are declared in settings.cpp.
struct Settings {
  std::string workload;
  MakeTask make_task;

  std::int64_t loader_threads = 1;
  std::int64_t loader_buffers = 6;

  std::int64_t batch_size = kAutoBatch;  ///< of one rank and one backward
  std::int64_t accumulation = 1;
  std::int64_t eval_batch_size = 0;  ///< 0: as the training's, 64 at least
  double epochs = 0;
  std::int64_t max_steps = 0;   ///< 0: epochs decide
  std::int64_t eval_every = 0;  ///< steps; 0: once an epoch
  double target = 0;            ///< of the task's first quality; 0: none
  std::uint64_t seed = 1;
  bool data_only = false;
  bool find_batch = false;    ///< choose the batch size and end
  bool repeat_batch = false;  ///< train on the first batch only: no input after it

  OptimizerOptions optimizer;
  ScheduleOptions schedule;  ///< total_steps is set by the step loop
  double warmup_epochs = 0;  ///< where schedule.warmup_steps is 0
  double label_smoothing = 0;
  double clip_norm = 0;
  double ema_decay = 0;

  std::string device;  ///< auto, cpu or cuda
  std::int64_t threads = 0;
  Precision precision = Precision::fp32;
  bool channels_last = true;
  bool cuda_graph = true;  ///< on one rank
  CudnnTrials cudnn_trials = CudnnTrials::automatic;
  bool deterministic = false;

  std::string checkpoint;  ///< a folder; empty: none
  std::int64_t checkpoint_every = 0;
  bool resume = false;
  /// Options, as in the configuration, that a training keeps when it goes on: what its data are and
  /// in which order they come, and the optimizer.
  std::vector<std::pair<std::string, std::string>> kept;
  /// Those that give the model its shape, to say why one differs; several may give the same.
  std::vector<std::pair<std::string, std::string>> shaping;

  Communicator::Options communicator;
  std::string trace;  ///< files of a StepTrace, without ".RANK.json"; empty: none
  std::int64_t trace_step = 10;
  std::int64_t bucket_bytes = 8 << 20;
  Mesh mesh;                       ///< of the ranks; `data` is what is left of them
  std::int64_t micro_batches = 1;  ///< parts in which a batch goes through the stages
};

// Groups of options, for what trains with a part of them: the trials of an AutoML experiment.
void read_input(Settings& settings, workload::Options& options);   ///< batches: how they are made
void read_method(Settings& settings, workload::Options& options);  ///< optimizer and schedule
/// Of tasks that predict classes or words and use it; the others do not know the option.
void read_label_smoothing(Settings& settings, workload::Options& options);
void read_computing(Settings& settings, workload::Options& options);  ///< precision and formats

/// All options that are not a task's own. Throws Error of kind config.
void read_common(Settings& settings, workload::Options& options);

}  // namespace assay::train
