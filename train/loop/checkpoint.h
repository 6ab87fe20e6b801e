#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "train/loop/task.h"
#include "train/mesh/model_share.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"
#include "train/parallel/communicator.h"

namespace assay::train {

/// Where a training stands, besides its tensors.
struct Progress {
  std::int64_t step = 0;
  data::Position position;  ///< of the next batch
  double scale = 0;         ///< loss scaling
  std::int64_t good_steps = 0;
  std::int64_t skipped = 0;
  std::uint32_t checksum = 0;  ///< of the checkpoint that it was read from, all its files included
};

/// The tensors of a training, by reference.
struct TrainingState {
  std::string workload;
  torch::nn::Module& model;
  FlatParameters& parameters;
  Optimizer& optimizer;
  MovingAverage* average = nullptr;
  torch::Device device;
  std::int64_t rows = 0;  ///< of all ranks in one backward
  std::int64_t accumulation = 1;
  Communicator& data;                                        ///< the ranks with other data
  ModelShare* shared = nullptr;                              ///< of ranks that share the model
  std::vector<std::pair<std::string, std::string>> kept;     ///< Settings::kept
  std::vector<std::pair<std::string, std::string>> shaping;  ///< Settings::shaping
  std::int64_t train_samples = 0;                            ///< 0: not known
  std::uint32_t data_checksum = 0;                           ///< Task::data_checksum()
  double ema_decay = 0;
};

/// Checkpoints in a folder: step<N>/model.pt (rank 0: parameters, optimizer), step<N>/rank<r>.pt
/// (every rank: norm statistics, random numbers), then `latest` names the step. Each file is
/// written beside its place and renamed, and `latest` last of all, so that a crash leaves the old
/// checkpoint or the new one. step<N>/info.json has the sizes and checksums of all files, so that a
/// byte that was changed is seen. Rank 0 holds `lock`. The two newest are kept. They are as one
/// rank with all of the model would write them, so that a training can go on with another mesh.
class Checkpoints {
 public:
  /// Makes the folder. Throws Error of kind environment when it cannot be written to, or when
  /// another training has its checkpoints there.
  Checkpoints(std::filesystem::path folder, Communicator& communicator);

  /// Called by all ranks. Throws Error of kind environment when a file cannot be written.
  void save(const TrainingState& state, const Progress& progress);

  /// Restores the newest checkpoint, by all ranks; nothing when there is none (see newest_step()).
  /// Another number of
  /// ranks goes on with the next sample when a step has as many of them as before; ranks that are
  /// new begin with random numbers of their own. Throws Error of kind config for one of another
  /// model, number of samples, data or optimizer, of kind environment for a damaged one.
  [[nodiscard]] std::optional<Progress> load(const TrainingState& state);

  /// Says that a training that does not go on leaves the checkpoints of an earlier one, if there
  /// are any.
  void leave_earlier() const;

  /// Says that the state after `step` was no good after all, as the next loss shows. If it is the
  /// newest checkpoint, the one before it, where there is one, is the newest again.
  void withdraw(std::int64_t step) noexcept;

  /// "step 120 in FOLDER" or "none".
  [[nodiscard]] std::string last() const;

 private:
  void remove_older();
  void find_steps(std::int64_t newest);
  void say(const std::string& note) const;
  [[nodiscard]] Progress read_info(const Json& info, std::int64_t step,
                                   const std::filesystem::path& path,
                                   const TrainingState& state) const;

  std::filesystem::path folder_;
  Communicator& communicator_;
  std::optional<UniqueFd> lock_;     // of rank 0
  std::vector<std::int64_t> steps_;  // the newest last
};

}  // namespace assay::train
