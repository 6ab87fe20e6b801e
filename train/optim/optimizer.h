#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/optim/flat_parameters.h"

namespace assay::train {

/// Norms and biases are never decayed; LARS and LAMB do not adapt their rate either.
struct OptimizerOptions {
  std::string method = "sgd";  ///< sgd, lars, adamw or lamb
  double weight_decay = 0;
  double momentum = 0.9;  ///< sgd, lars
  bool nesterov = false;  ///< sgd
  double trust = 0.001;   ///< lars
  double beta1 = 0.9;     ///< adamw, lamb
  double beta2 = 0.999;
  double epsilon = 1e-8;
  /// For adamw: keeps its two moments in bf16, 4 bytes per parameter instead of 8. Moments are
  /// rounded randomly up or down, which keeps their mean right: changes smaller than the distance
  /// between two numbers are not lost.
  bool small_state = false;
  /// Composes libtorch operators even if there is a kernel of our own; for tests.
  bool plain = false;
};

[[nodiscard]] const std::vector<std::string>& optimizer_methods();

/// A range of elements of flat parameters.
struct FlatRange {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// Updates flat parameters from their gradients:
///   sgd    g += decay·p; v = momentum·v + g; p -= rate·(v, or g + momentum·v with nesterov)
///   lars   sgd with g scaled by trust·|p| / (|g| + decay·|p|), per decayed tensor
///   adamw  p -= rate·decay·p; p -= rate·m̂ / (√v̂ + epsilon)
///   lamb   u = m̂ / (√v̂ + epsilon) + decay·p; p -= rate·(|p| / |u|)·u, per decayed tensor
/// Neither waits for the device nor allocates on the CPU (sgd, adamw).
class Optimizer {
 public:
  /// `parameters` must outlive this. With a `part`, only that part is updated, and the state is
  /// that part's: the ranks divide the rest. Throws Error of kind config for an unknown method, for
  /// one that needs whole tensors together with a part, and for a small state with another method
  /// than adamw.
  Optimizer(FlatParameters& parameters, const OptimizerOptions& options);
  Optimizer(FlatParameters& parameters, const OptimizerOptions& options, FlatRange part);

  /// `factor` multiplies the gradients beforehand: a zero-dimensional tensor (unscaling, clipping),
  /// or undefined for 1. May change the gradients.
  void step(double rate, const torch::Tensor& factor = {});

  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  void set_steps(std::int64_t steps) noexcept { steps_ = steps; }
  [[nodiscard]] const FlatRange& part() const noexcept { return part_; }
  /// Names and tensors of the (part's) state, for checkpoints.
  [[nodiscard]] const std::vector<std::pair<std::string, torch::Tensor>>& state() const noexcept {
    return state_;
  }

 private:
  struct Range {
    std::int64_t begin;
    std::int64_t size;
    double decay;
  };
  void sgd(double rate, const torch::Tensor& factor);
  void lars(double rate);
  void adamw(double rate, const torch::Tensor& factor);
  void lamb(double rate);
  void scale_gradients(const torch::Tensor& factor);

  FlatParameters& parameters_;
  OptimizerOptions options_;
  FlatRange part_;
  std::vector<Range> ranges_;
  std::vector<std::pair<std::string, torch::Tensor>> state_;
  std::int64_t steps_ = 0;
};

}  // namespace assay::train
