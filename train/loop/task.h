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

/// How many steps a device may be behind the host: the buffers of that many batches are still being
/// copied from, and a loss is read that many steps late.
inline constexpr std::int64_t kStepsInFlight = 3;

/// The work in one batch, on this rank.
struct BatchWork {
  double samples = 0;
  double tokens = 0;  ///< 0 for images
  double flops = 0;   ///< model FLOPs, forward and backward
};

/// One rank's sums over its share of an evaluation, to be added over all ranks.
struct Evaluation {
  std::vector<std::int64_t> counts;
  std::vector<double> sums;
};

using Qualities = std::vector<std::pair<std::string, double>>;

/// A model with its data, on one rank. Single-threaded.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  [[nodiscard]] virtual torch::nn::Module& model() = 0;
  /// Makes the training batches from `start` on available, until the end of `epochs` epochs (0:
  /// without end). Throws Error of kind config if there can be none (a batch larger than the data).
  virtual void start(const data::Position& start, std::int64_t epochs = 0) = 0;
  [[nodiscard]] virtual std::int64_t batches_per_epoch() const = 0;
  /// The position of the batch that next() will return.
  [[nodiscard]] virtual data::Position position() const = 0;
  /// Takes the next training batch and sends it to the device.
  virtual BatchWork next() = 0;
  /// The tensors of that batch as read by loss(), in place.
  [[nodiscard]] virtual std::vector<torch::Tensor*> inputs() = 0;
  /// The mean loss over the batch taken by next(), as a float.
  [[nodiscard]] virtual torch::Tensor loss() = 0;
  /// The same, and adds `factor` times its gradient to the parameters' gradients. Calls `completes`
  /// before the part of backward that completes gradients.
  [[nodiscard]] virtual torch::Tensor backward(double factor,
                                               const std::function<void()>& completes) {
    const torch::Tensor mean = loss();
    completes();
    (factor == 1.0 ? mean : mean * factor).backward();
    return mean.detach();
  }
  /// Called once, when the model's parameters are in `parameters`, which outlives this. Returns the
  /// joint operations of ranks that share a model; nullptr: each has the whole model.
  [[nodiscard]] virtual ModelShare* share(FlatParameters& /*parameters*/) { return nullptr; }
  /// Called once after that, when the values are the training's initial ones.
  virtual void bind(FlatParameters& /*parameters*/) {}
  /// The number of samples in the batch that loss() sees.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  /// Changes that number, by taking some of them or repeating them.
  virtual void resize(std::int64_t rows) = 0;
  /// Sets the batch size from the next start() on.
  virtual void set_batch_size(std::int64_t rows) = 0;
  /// The largest possible batch size: this rank's share of the data.
  [[nodiscard]] virtual std::int64_t max_batch_size() const = 0;

  /// Settings that would need less memory than the current ones, in words.
  [[nodiscard]] virtual std::vector<std::string> memory_savers() const { return {}; }

  /// Evaluates this rank's share of the evaluation data, each sample once.
  [[nodiscard]] virtual Evaluation evaluate() = 0;
  /// The qualities from the sums over all ranks. Targets refer to the first one.
  [[nodiscard]] virtual Qualities qualities(const Evaluation& total) const = 0;
  /// Whether the first quality has reached the target: it is at least that, or for a loss at most.
  [[nodiscard]] virtual bool reached(double quality, double target) const {
    return quality >= target;
  }
  /// The best possible value of the first quality on this data; 0 if unknown.
  [[nodiscard]] virtual double best_quality() const = 0;
  /// The number of this rank's samples found damaged and replaced.
  [[nodiscard]] virtual std::int64_t damaged() const = 0;
  /// The number of training samples on all ranks; 0 if unknown.
  [[nodiscard]] virtual std::int64_t train_samples() const { return 0; }
  /// A checksum of some samples, to detect ranks that see different data; 0: of none, if the same
  /// files may give different numbers on another machine.
  [[nodiscard]] virtual std::uint32_t data_checksum() const { return 0; }
  /// The file or folder with a training's initial parameters; empty: they are random.
  [[nodiscard]] virtual std::string begins_with() const { return {}; }
  /// FLOPs for training on one sample.
  [[nodiscard]] virtual double flops_per_sample() const = 0;

  /// Seconds that this rank has waited for other pipeline stages so far; nothing without a
  /// pipeline.
  [[nodiscard]] virtual std::optional<double> waited_for_stages() const { return std::nullopt; }

  /// Called on all ranks when the training has ended properly, before they report so.
  virtual void finish() {}

  /// Takes one batch from the input pipeline without training; returns false after the last.
  virtual bool skip(BatchWork& work) = 0;
};

}  // namespace assay::train
