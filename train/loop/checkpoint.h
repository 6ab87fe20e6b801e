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

/// The state of a training besides its tensors.
struct Progress {
  std::int64_t step = 0;
  data::Position position;  ///< of the next batch
  double scale = 0;         ///< for loss scaling
  std::int64_t good_steps = 0;
  std::int64_t skipped = 0;
  std::uint32_t checksum = 0;  ///< of the checkpoint it was read from, covering all its files
};

/// A training's tensors, by reference.
struct TrainingState {
  std::string workload;
  torch::nn::Module& model;
  FlatParameters& parameters;
  Optimizer& optimizer;
  MovingAverage* average = nullptr;
  torch::Device device;
  std::int64_t rows = 0;  ///< on all ranks in one backward
  std::int64_t accumulation = 1;
  Communicator& data;                                        ///< the ranks with other data
  ModelShare* shared = nullptr;                              ///< for ranks that share the model
  std::vector<std::pair<std::string, std::string>> kept;     ///< Settings::kept
  std::vector<std::pair<std::string, std::string>> shaping;  ///< Settings::shaping
  std::int64_t train_samples = 0;                            ///< 0: unknown
  std::uint32_t data_checksum = 0;                           ///< Task::data_checksum()
  double ema_decay = 0;
};

/// Checkpoints in a folder: step<N>/model.pt (rank 0: parameters, optimizer), step<N>/rank<r>.pt
/// (every rank: norm statistics, random numbers), then `latest` names the step. Files are written
/// under temporary names and renamed, `latest` last of all: a crash leaves the old checkpoint or
/// the new one. step<N>/info.json has the sizes and checksums of all files to detect any changed
/// byte. Rank 0 holds `lock`. The two newest are kept. Their content is what one rank with the
/// whole model would write, so that a training can resume with another mesh.
class Checkpoints {
 public:
  /// Creates the folder. Throws Error of kind environment if it cannot be written to, or another
  /// training keeps its checkpoints there.
  Checkpoints(std::filesystem::path folder, Communicator& communicator);

  /// Called by all ranks. Throws Error of kind environment if a file cannot be written.
  void save(const TrainingState& state, const Progress& progress);

  /// Restores the newest checkpoint, called by all ranks; returns nothing if there is none (see
  /// newest_step()). A different number of ranks continues with the next sample if a step has the
  /// same number of samples as before; new ranks start with their own random numbers. Throws Error
  /// of kind config if its model, number of samples, data or optimizer differs, of kind environment
  /// if it is damaged.
  [[nodiscard]] std::optional<Progress> load(const TrainingState& state);

  /// Reports that a training that does not resume leaves an earlier one's checkpoints in place, if
  /// any.
  void leave_earlier() const;

  /// Reports that the state after `step` was bad after all, as the next loss shows. If it is the
  /// newest checkpoint, the previous one, if any, becomes the newest again.
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
  std::optional<UniqueFd> lock_;     // rank 0's
  std::vector<std::int64_t> steps_;  // the newest last
};

}  // namespace assay::train
