#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/base/torch.h"
#include "train/data/loader.h"
#include "train/mesh/model_share.h"
#include "train/optim/flat_parameters.h"

namespace assay::train {

/// Steps that a device may be behind the host: the buffers of so many batches are still being
/// copied from, and a loss is read so many steps late.
inline constexpr std::int64_t kStepsInFlight = 3;

/// What one batch amounts to, on this rank.
struct BatchWork {
  double samples = 0;
  double tokens = 0;  ///< 0 for images
  double flops = 0;   ///< model FLOPs, forward and backward
};

/// Sums of one rank's share of an evaluation; those of all ranks are added.
struct Evaluation {
  std::vector<std::int64_t> counts;
  std::vector<double> sums;
};

using Qualities = std::vector<std::pair<std::string, double>>;

/// A model with its data, on one rank. One thread.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  [[nodiscard]] virtual torch::nn::Module& model() = 0;
  /// Makes the training batches from `start` on available, to the end of so many epochs (0: without
  /// end). Throws Error of kind config when there can be none (a batch larger than the data).
  virtual void start(const data::Position& start, std::int64_t epochs = 0) = 0;
  [[nodiscard]] virtual std::int64_t batches_per_epoch() const = 0;
  /// The position of the batch that next() gives.
  [[nodiscard]] virtual data::Position position() const = 0;
  /// Takes the next training batch and sends it to the device.
  virtual BatchWork next() = 0;
  /// The tensors of that batch that loss() reads, where it reads them.
  [[nodiscard]] virtual std::vector<torch::Tensor*> inputs() = 0;
  /// The mean loss over the batch that next() took; float.
  [[nodiscard]] virtual torch::Tensor loss() = 0;
  /// The same, and adds `factor` times its gradient to those of the parameters. Calls `completes`
  /// before the part of backward after which gradients are complete.
  [[nodiscard]] virtual torch::Tensor backward(double factor,
                                               const std::function<void()>& completes) {
    const torch::Tensor mean = loss();
    completes();
    (factor == 1.0 ? mean : mean * factor).backward();
    return mean.detach();
  }
  /// Called once, when the model's parameters have come to lie in `parameters`, which outlives
  /// this: of a model that ranks share, what they have to do together; nullptr: each has all of it.
  [[nodiscard]] virtual ModelShare* share(FlatParameters& /*parameters*/) { return nullptr; }
  /// Called once after that, when the values are those of the training's begin.
  virtual void bind(FlatParameters& /*parameters*/) {}
  /// Samples of the batch that loss() sees.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  /// Makes them so many: some of them, or all of them again and again.
  virtual void resize(std::int64_t rows) = 0;
  /// Samples of the batches from the next start() on.
  virtual void set_batch_size(std::int64_t rows) = 0;
  /// The most that it can be: this rank's share of the data.
  [[nodiscard]] virtual std::int64_t max_batch_size() const = 0;

  /// Settings that would need less memory than those that it has, in words.
  [[nodiscard]] virtual std::vector<std::string> memory_savers() const { return {}; }

  /// Over this rank's share of the evaluation data, each sample once.
  [[nodiscard]] virtual Evaluation evaluate() = 0;
  /// The qualities computed from the sums over all ranks. Targets refer to the first one.
  [[nodiscard]] virtual Qualities qualities(const Evaluation& total) const = 0;
  /// Whether the first quality has reached the target: it is at least that, or at most for a loss.
  [[nodiscard]] virtual bool reached(double quality, double target) const {
    return quality >= target;
  }
  /// The best value that the first quality can have on these data, or 0 when it is not known.
  [[nodiscard]] virtual double best_quality() const = 0;
  /// Samples of this rank that were found damaged and replaced.
  [[nodiscard]] virtual std::int64_t damaged() const = 0;
  /// Of the training data, of all ranks; 0 when it is not known.
  [[nodiscard]] virtual std::int64_t train_samples() const { return 0; }
  /// Of some samples, so that ranks that see other data are found; 0: of none, where the same files
  /// may give other numbers on another machine.
  [[nodiscard]] virtual std::uint32_t data_checksum() const { return 0; }
  /// The file or folder with the parameters that a training begins with; empty: they are random.
  [[nodiscard]] virtual std::string begins_with() const { return {}; }
  /// FLOPs of training on one sample.
  [[nodiscard]] virtual double flops_per_sample() const = 0;

  /// Seconds that this rank has waited for other stages of a pipeline so far; nothing when it is in
  /// none.
  [[nodiscard]] virtual std::optional<double> waited_for_stages() const { return std::nullopt; }

  /// Called on all ranks when the training has ended as it should, before they say so.
  virtual void finish() {}

  /// One batch of the input pipeline and nothing else; false after the last.
  virtual bool skip(BatchWork& work) = 0;
};

}  // namespace assay::train
