#pragma once

#include <array>
#include <vector>

#include "automl/graph.h"
#include "train/base/torch.h"

namespace assay::train {

/// A network as automl::Graph describes it. Convolutions and dense layers have biases, so that
/// parameters and norm statistics together are as many as Graph::parameters() counts. Modules are
/// named by their layer's id ("12.weight").
///
/// A batch norm that nothing else reads is executed together with the add and the ReLU after it;
/// tensors go as soon as their last reader has run (autograd keeps what backward needs).
class GraphModelImpl : public torch::nn::Module {
 public:
  /// Fresh weights from libtorch's generator: convolutions He-normal by their outputs, biases zero,
  /// norms identity, dense layers as torch::nn::Linear.
  explicit GraphModelImpl(const automl::Graph& graph);

  /// x is [N, channels, H, W] (channels-last is fastest), or [N, channels] for a flat input. Gives
  /// the output [N, units], or [N, channels, H, W]. A softmax that ends the graph is left to the
  /// loss.
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& x);

  [[nodiscard]] const automl::Graph& graph() const noexcept { return graph_; }
  /// The module of a conv, dense or batch_norm layer; empty for other layers.
  [[nodiscard]] torch::nn::Conv2d& conv(int layer) { return convs_[layer]; }
  [[nodiscard]] torch::nn::Linear& dense(int layer) { return denses_[layer]; }
  [[nodiscard]] torch::nn::BatchNorm2d& norm(int layer) { return norms_[layer]; }

 private:
  /// One layer, or a batch norm with what is fused to it.
  struct Step {
    int layer = 0;  // the norm of a fused step
    std::array<int, 2> inputs{-1, -1};
    int output = 0;
    bool relu = false;        // of a norm
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
  int result_ = 0;                    // the node that forward gives
  std::vector<torch::Tensor> nodes_;  // empty between calls
};
TORCH_MODULE(GraphModel);

}  // namespace assay::train
