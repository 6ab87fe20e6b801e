#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/base/torch.h"
#include "train/models/keep.h"
#include "train/models/llama_options.h"
#include "train/models/llama_share.h"
#include "train/models/llama_weight.h"
#include "train/models/moe.h"
#include "train/models/unit_store.h"

namespace assay::train {

class Fp8Scales;

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
  double balance = 0;  ///< what the gradient of a mixture's loss is multiplied with
};

/// Parameters by their names in the whole model.
using NamedTensors = std::map<std::string, torch::Tensor>;

class LlamaBlockImpl : public torch::nn::Module {
 public:
  /// `values` holds the block's parameters, as cut for the share.
  LlamaBlockImpl(const LlamaOptions& options, const LlamaShare& share, const NamedTensors& values,
                 std::int64_t layer);
  /// Of ranks that share matrices each has a part of the tokens, see shared_ops.h. Keep::inputs is
  /// up to the caller.
  [[nodiscard]] Residual forward(const Residual& in, const Sequences& sequences,
                                 Keep keep = Keep::all) const;

  Weight qkv;      ///< [qkv(), width]: all heads of queries, then of keys, then of values
  Weight out;      ///< [width, width]
  Weight gate_up;  ///< [2 · inner, width]: the gate first; undefined in a mixture
  Weight down;     ///< [width, inner]
  Mixture mixture{nullptr};
  torch::Tensor norm1;
  torch::Tensor norm2;
  torch::Tensor q_norm;  ///< [head]; undefined without qk_norm
  torch::Tensor k_norm;

 private:
  [[nodiscard]] torch::Tensor attend(const Normed& in, const Sequences& sequences, Keep keep) const;
  [[nodiscard]] torch::Tensor mlp(const Normed& in, const Sequences& sequences, Keep keep) const;

  LlamaOptions options_;
  Exchange* tensor_;       // nullptr: the block is not shared
  std::int64_t kv_heads_;  // of this rank
};
TORCH_MODULE(LlamaBlock);

struct HeadGradient;

/// The sum of the losses of a batch's predictions, and the right ones among them.
struct TokenLosses {
  torch::Tensor sum;    ///< float
  torch::Tensor right;  ///< int64; undefined when they were not asked for
};

/// A part of a batch between its forward and its backward on one rank.
struct LlamaPass {
  struct Segment {
    /// A leaf: autograd sees one block at a time. h is undefined when it need not be computed
    /// again.
    Residual in;
    /// Of what the block gave only its place in the graph is kept; empty: to be computed again.
    torch::autograd::edge_list roots;
  };
  Sequences sequences;
  torch::Tensor embedded;  ///< undefined on ranks that do not begin
  std::vector<Segment> segments;
  Residual state;  ///< what the last of this rank's blocks gave, a leaf
};

class LlamaImpl : public torch::nn::Module {
 public:
  /// Random weights, drawn where they are to be: a large model does not fit on the host. Those of a
  /// share are the whole model's.
  explicit LlamaImpl(const LlamaOptions& options, torch::Device device = torch::kCPU,
                     const LlamaShare& share = {});

  /// Forward and backward: gives the mean loss of predicting `labels` (int64 [B, S]) from `tokens`
  /// (int64 [B, S]), and adds `factor` times its gradient to those of the parameters. Logits exist
  /// for a part of the batch at a time. Of a rank with all blocks.
  [[nodiscard]] torch::Tensor train_on(const torch::Tensor& tokens, const torch::Tensor& labels,
                                       const torch::Tensor& documents, double factor,
                                       Keep keep = Keep::all);

  // The same in parts, for ranks with some of the blocks: forward, on the last rank the loss, then
  // backward.

  /// Before the first part of a batch.
  void begin_batch();
  /// Through this rank's blocks. `in` is what the rank before gives, see given().
  [[nodiscard]] LlamaPass forward(const torch::Tensor& tokens, const torch::Tensor& documents,
                                  const torch::Tensor& in, double factor, Keep keep);
  /// What the next rank goes on with: [B, S, width] (of ranks that share matrices, their tokens).
  [[nodiscard]] static torch::Tensor given(const LlamaPass& pass);
  /// On the last rank: the mean loss; `gradient` becomes that of given() by factor · loss.
  [[nodiscard]] torch::Tensor loss(LlamaPass& pass, const torch::Tensor& labels, double factor,
                                   torch::Tensor& gradient);
  /// Takes the gradient by given(), gives that by `in`; undefined on the first rank.
  [[nodiscard]] torch::Tensor backward(LlamaPass& pass, torch::Tensor gradient);

  /// Without gradients, through all blocks.
  [[nodiscard]] TokenLosses losses(const torch::Tensor& tokens, const torch::Tensor& labels,
                                   const torch::Tensor& documents);
  /// In parts: what the next rank goes on with, and on the last one the losses of that.
  [[nodiscard]] torch::Tensor evaluate(const torch::Tensor& tokens, const torch::Tensor& documents,
                                       const torch::Tensor& in);
  [[nodiscard]] TokenLosses losses_of(const torch::Tensor& evaluated, const torch::Tensor& labels);

  /// [B, S, vocabulary], with autograd throughout; for comparisons.
  [[nodiscard]] torch::Tensor logits(const torch::Tensor& tokens,
                                     const torch::Tensor& documents = {});

  /// From now on parameters are in `store` when they are not used; it outlives the model's use.
  void keep_in(UnitStore& store) noexcept { store_ = &store; }
  /// The unit of UnitStore that a parameter belongs to.
  [[nodiscard]] std::size_t unit_of(const std::string& parameter) const;

  /// The type that activations have from now on: float, or what weights are rounded to.
  void compute_in(torch::ScalarType type) noexcept { type_ = type; }
  [[nodiscard]] torch::ScalarType type() const noexcept { return type_; }
  /// Products of weights with activations in bf16 are in fp8 from now on, where their sizes are
  /// multiples of 16. Throws Error of kind config where device, libtorch or build do not have them.
  void multiply_in_fp8();
  /// Every matrix with the name of its parameter, to be given a rounded copy.
  [[nodiscard]] std::vector<std::pair<std::string, Weight*>> weights();
  /// The parameters with Hugging Face's names (docs of transformers, LlamaForCausalLM): views of
  /// those of this model, so that copying into them loads a model. A tied output is left out.
  [[nodiscard]] std::vector<std::pair<std::string, torch::Tensor>> named_as_hugging_face() const;

  [[nodiscard]] const LlamaOptions& options() const noexcept { return options_; }
  [[nodiscard]] const LlamaShare& share() const noexcept { return share_; }

 private:
  [[nodiscard]] Sequences sequences(const torch::Tensor& tokens, const torch::Tensor& documents);
  [[nodiscard]] torch::Tensor embed(const torch::Tensor& tokens) const;
  [[nodiscard]] torch::Tensor finish(const Residual& last) const;
  [[nodiscard]] Weight& head() noexcept { return options_.tied ? embedding_ : output_; }

  // Units of UnitStore.
  [[nodiscard]] std::size_t end_unit() const noexcept { return blocks_.size() + 1; }
  // Where the output matrix is.
  [[nodiscard]] std::size_t head_unit() const noexcept { return options_.tied ? 0 : end_unit(); }

  [[nodiscard]] TokenLosses head_losses_of(const torch::Tensor& y, const torch::Tensor& labels,
                                           HeadGradient* gradient, bool count_right);

  LlamaOptions options_;
  LlamaShare share_;
  torch::ScalarType type_ = torch::kFloat;
  Weight embedding_;
  std::vector<LlamaBlock> blocks_;
  torch::Tensor norm_;
  Weight output_;
  std::shared_ptr<Fp8Scales> scales_;  // null: no products in fp8
  UnitStore* store_ = nullptr;         // nullptr: parameters are always there
  torch::Tensor cosine_;               // of as many positions as were needed
  torch::Tensor sine_;
};
TORCH_MODULE(Llama);

/// The angles' cosines and sines, float [length, head / 2].
[[nodiscard]] std::pair<torch::Tensor, torch::Tensor> rotary_tables(const LlamaOptions& options,
                                                                    std::int64_t length);

}  // namespace assay::train
