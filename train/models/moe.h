#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "train/models/llama_share.h"
#include "train/models/llama_weight.h"

namespace assay::train {

/// An MLP of a mixture: down(silu(gate) · up).
class ExpertImpl : public torch::nn::Module {
 public:
  ExpertImpl(torch::Tensor gate_up_values, torch::Tensor down_values);
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& rows) const;

  Weight gate_up;  ///< [2 · inner, width]: the gate first
  Weight down;     ///< [width, inner]
};
TORCH_MODULE(Expert);

/// A mixture of experts that replaces an MLP. The router gives every token a probability for each
/// expert (softmax, in float); the token passes the most probable ones, however many tokens these
/// have: none is dropped. Their results are added, weighted by the probabilities normalized to a
/// sum of 1. The gradient includes `balance` times E · Σ f·p for each sequence (f: the experts'
/// shares of its choices, p: their mean probabilities), which is 1 if all are chosen equally. It is
/// computed per sequence so that it does not depend on how a batch is divided.
class MixtureImpl : public torch::nn::Module {
 public:
  /// Returns the values of a parameter of this module by its name in it.
  using Values = std::function<torch::Tensor(const std::string& name)>;
  MixtureImpl(const LlamaOptions& options, const LlamaShare& share, const Values& values);

  /// Takes [B, S, width] with all tokens of the sequences. Ranks that share matrices each return
  /// part of the sum.
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& y, double balance) const;
  /// All matrices with their names in this module.
  [[nodiscard]] std::vector<std::pair<std::string, Weight*>> weights();

 private:
  [[nodiscard]] torch::Tensor through_experts(const torch::Tensor& rows,
                                              const std::vector<std::int64_t>& counts) const;

  LlamaOptions options_;
  LlamaShare share_;
  Weight router_;
  std::vector<std::pair<std::int64_t, Expert>> experts_;  // with their numbers
};
TORCH_MODULE(Mixture);

}  // namespace assay::train
