#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "train/models/llama_share.h"
#include "train/models/llama_weight.h"

namespace assay::train {

/// One of the MLPs of a mixture: down(silu(gate) · up).
class ExpertImpl : public torch::nn::Module {
 public:
  ExpertImpl(torch::Tensor gate_up_values, torch::Tensor down_values);
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& rows) const;

  Weight gate_up;  ///< [2 · inner, width]: the gate first
  Weight down;     ///< [width, inner]
};
TORCH_MODULE(Expert);

/// A mixture of experts in place of an MLP. The router gives every token a probability for each
/// expert (softmax, in float); the token goes through the most probable ones, whatever their number
/// of tokens is: none is dropped. Their results are added with the probabilities, made to sum to 1.
/// The gradient is also that of `balance` times E · Σ f·p for each sequence (f the experts' shares
/// of its choices, p their mean probabilities), which is 1 when all are chosen alike. It is of one
/// sequence so that it does not depend on how a batch is shared out.
class MixtureImpl : public torch::nn::Module {
 public:
  /// Gives the values of a parameter of this module by its name in it.
  using Values = std::function<torch::Tensor(const std::string& name)>;
  MixtureImpl(const LlamaOptions& options, const LlamaShare& share, const Values& values);

  /// Of [B, S, width] with all tokens of the sequences. Ranks that share matrices have each a part
  /// of the sum.
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
