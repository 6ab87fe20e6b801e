#pragma once

#include <array>
#include <vector>

#include "automl/graph.h"
#include "train/base/torch.h"

namespace assay::train {

/// The network described by an automl::Graph. Convolutions and dense layers have biases, so that
/// parameters and norm statistics together number Graph::parameters(). Modules are named by their
/// layer's id ("12.weight").
///
/// A batch norm without other readers is executed together with the following add and ReLU; tensors
/// are freed once their last reader has run (autograd keeps what backward needs).
class GraphModelImpl : public torch::nn::Module {
 public:
  /// Draws fresh weights with libtorch's generator: convolutions He-normal by their outputs, biases
  /// zero, norms identity, dense layers as torch::nn::Linear.
  explicit GraphModelImpl(const automl::Graph& graph);

  /// x is [N, channels, H, W] (channels-last is fastest), or [N, channels] for a flat input.
  /// Returns the output [N, units], or [N, channels, H, W]. A final softmax is left to the loss.
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& x);

  [[nodiscard]] const automl::Graph& graph() const noexcept { return graph_; }
  /// The module of a conv, dense or batch_norm layer; empty for other layers.
  [[nodiscard]] torch::nn::Conv2d& conv(int layer) { return convs_[layer]; }
  [[nodiscard]] torch::nn::Linear& dense(int layer) { return denses_[layer]; }
  [[nodiscard]] torch::nn::BatchNorm2d& norm(int layer) { return norms_[layer]; }

 private:
  /// One layer, or a batch norm with the layers fused to it.
  struct Step {
    int layer = 0;  // the norm of a fused step
    std::array<int, 2> inputs{-1, -1};
    int output = 0;
    bool relu = false;        // for a norm
    std::vector<int> unused;  // nodes that nothing reads after this step
  };
  void plan();
  [[nodiscard]] torch::Tensor run(const Step& step, const torch::Tensor& x,
                                  const torch::Tensor& second);

  automl::Graph graph_;
  std::vector<torch::nn::Conv2d> convs_;  // by layer
  std::vector<torch::nn::Linear> denses_;
  std::vector<torch::nn::BatchNorm2d> norms_;
  std::vector<Step> steps_;
  int result_ = 0;                    // the node returned by forward
  std::vector<torch::Tensor> nodes_;  // empty between calls
};
TORCH_MODULE(GraphModel);

}  // namespace assay::train
