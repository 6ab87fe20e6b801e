#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/base/torch.h"
#include "train/models/keep.h"
#include "train/models/llama_options.h"

namespace assay::train {

class Fp8Product;
class Fp8Scales;

/// A weight, and where there is one a copy of it in the type that activations have, which whoever
/// updates the weight keeps up to date: a product then need not round it.
struct Weight {
  torch::Tensor value;    ///< the module's parameter
  torch::Tensor rounded;  ///< undefined: none
  /// Backward writes the gradient instead of adding to what is there. Of a matrix that is input and
  /// output, the output's part comes first.
  bool overwrite = false;
  /// Its products are in fp8; null: in the activations' type.
  std::shared_ptr<Fp8Product> fp8 = nullptr;

  [[nodiscard]] torch::Tensor as(torch::ScalarType type) const {
    if (rounded.defined() && rounded.scalar_type() == type) return rounded;
    return value.to(type);
  }
};

/// The state between two blocks: the residual stream, and what is still to be added to it, which
/// the next norm does in passing. The gradients of the two are the same.
struct Residual {
  torch::Tensor x;  ///< [B, S, width]
  torch::Tensor h;  ///< the same; undefined: nothing
};

/// A stream and its norm, with what that can be computed from again.
struct Normed {
  torch::Tensor sum;     ///< what was normed
  torch::Tensor y;       ///< sum / rms(sum) · weight
  torch::Tensor weight;  ///< float
  double epsilon = 0;
};

/// What all blocks read of a batch, besides activations.
struct Sequences {
  torch::Tensor cosine;  ///< float [S, head / 2], of the angle of each position and pair
  torch::Tensor sine;
  /// int32 [B, S]: the first position of the document that each position belongs to, before which
  /// attention does not look. Undefined: it looks at all earlier positions.
  torch::Tensor from;
};

class LlamaBlockImpl : public torch::nn::Module {
 public:
  LlamaBlockImpl(const LlamaOptions& options, torch::Device device);
  /// Keep::inputs is up to the caller.
  [[nodiscard]] Residual forward(const Residual& in, const Sequences& sequences,
                                 Keep keep = Keep::all) const;

  Weight qkv;      ///< [qkv(), width]: all heads of queries, then of keys, then of values
  Weight out;      ///< [width, width]
  Weight gate_up;  ///< [2 · inner, width]: the gate first
  Weight down;     ///< [width, inner]
  torch::Tensor norm1;
  torch::Tensor norm2;
  torch::Tensor q_norm;  ///< [head]; undefined without qk_norm
  torch::Tensor k_norm;

 private:
  [[nodiscard]] torch::Tensor attend(const Normed& in, const Sequences& sequences, Keep keep) const;

  LlamaOptions options_;
};
TORCH_MODULE(LlamaBlock);

/// The sum of the losses of a batch's predictions, and the right ones among them.
struct TokenLosses {
  torch::Tensor sum;    ///< float
  torch::Tensor right;  ///< int64; undefined when they were not asked for
};

class LlamaImpl : public torch::nn::Module {
 public:
  /// Random weights, drawn where they are to be: a large model does not fit on the host.
  explicit LlamaImpl(const LlamaOptions& options, torch::Device device = torch::kCPU);

  /// Forward and backward: gives the mean loss of predicting `labels` (int64 [B, S]) from `tokens`
  /// (int64 [B, S]), and adds `factor` times its gradient to those of the parameters. Logits exist
  /// for a part of the batch at a time.
  [[nodiscard]] torch::Tensor train_on(const torch::Tensor& tokens, const torch::Tensor& labels,
                                       const torch::Tensor& documents, double factor,
                                       Keep keep = Keep::all);
  /// Without gradients.
  [[nodiscard]] TokenLosses losses(const torch::Tensor& tokens, const torch::Tensor& labels,
                                   const torch::Tensor& documents);
  /// [B, S, vocabulary], with autograd throughout; for comparisons.
  [[nodiscard]] torch::Tensor logits(const torch::Tensor& tokens,
                                     const torch::Tensor& documents = {});

  /// The type that activations have from now on: float, or what weights are rounded to.
  void compute_in(torch::ScalarType type) noexcept { type_ = type; }
  /// Products of weights with activations in bf16 are in fp8 from now on, where their sizes are
  /// multiples of 16. Throws Error of kind config where device, libtorch or build do not have them.
  void multiply_in_fp8();
  /// Every matrix with the name of its parameter, to be given a rounded copy.
  [[nodiscard]] std::vector<std::pair<std::string, Weight*>> weights();
  /// The parameters with Hugging Face's names (docs of transformers, LlamaForCausalLM): views of
  /// those of this model, so that copying into them loads a model. A tied output is left out.
  [[nodiscard]] std::vector<std::pair<std::string, torch::Tensor>> named_as_hugging_face() const;

  [[nodiscard]] const LlamaOptions& options() const noexcept { return options_; }

 private:
  [[nodiscard]] Sequences sequences(const torch::Tensor& tokens, const torch::Tensor& documents);
  [[nodiscard]] torch::Tensor embed(const torch::Tensor& tokens) const;
  [[nodiscard]] torch::Tensor finish(const Residual& last) const;
  [[nodiscard]] Weight& head() noexcept { return options_.tied ? embedding_ : output_; }

  LlamaOptions options_;
  torch::ScalarType type_ = torch::kFloat;
  Weight embedding_;
  std::vector<LlamaBlock> blocks_;
  torch::Tensor norm_;
  Weight output_;
  std::shared_ptr<Fp8Scales> scales_;  // null: no products in fp8
  torch::Tensor cosine_;               // of as many positions as were needed
  torch::Tensor sine_;
};
TORCH_MODULE(Llama);

/// The angles' cosines and sines, float [length, head / 2].
[[nodiscard]] std::pair<torch::Tensor, torch::Tensor> rotary_tables(const LlamaOptions& options,
                                                                    std::int64_t length);

}  // namespace assay::train
