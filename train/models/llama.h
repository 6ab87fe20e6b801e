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

/// The state between two blocks: the residual stream, and a pending addition to it, which the next
/// norm performs on the way. Both have the same gradient.
struct Residual {
  torch::Tensor x;  ///< [B, S, width]
  torch::Tensor h;  ///< the same shape; undefined: nothing
};

/// A stream and its norm, with the inputs for recomputing it.
struct Normed {
  torch::Tensor sum;     ///< the norm's input
  torch::Tensor y;       ///< sum / rms(sum) · weight
  torch::Tensor weight;  ///< float
  double epsilon = 0;
};

/// The data of a batch that all blocks read, besides activations.
struct Sequences {
  torch::Tensor cosine;  ///< float [S, head / 2], for the angle of each position and pair
  torch::Tensor sine;
  /// int32 [B, S]: the first position of each position's document, before which attention does not
  /// look. Undefined: it sees all earlier positions.
  torch::Tensor from;
  double balance = 0;  ///< factor for the gradient of a mixture's loss
};

/// Parameters by their names in the whole model.
using NamedTensors = std::map<std::string, torch::Tensor>;

class LlamaBlockImpl : public torch::nn::Module {
 public:
  /// `values` are the block's parameters, already cut for the share.
  LlamaBlockImpl(const LlamaOptions& options, const LlamaShare& share, const NamedTensors& values,
                 std::int64_t layer);
  /// Ranks that share matrices each have part of the tokens, see shared_ops.h. Keep::inputs is the
  /// caller's responsibility.
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
  std::int64_t kv_heads_;  // this rank's
};
TORCH_MODULE(LlamaBlock);

struct HeadGradient;

/// The sum of the losses of a batch's predictions, and the number of correct ones.
struct TokenLosses {
  torch::Tensor sum;    ///< float
  torch::Tensor right;  ///< int64; undefined unless requested
};

/// Part of a batch between its forward and its backward on one rank.
struct LlamaPass {
  struct Segment {
    /// A leaf, because autograd sees one block at a time. h is undefined if it need not be
    /// recomputed.
    Residual in;
    /// Keeps only the place of the block's output in the graph; empty: to be recomputed.
    torch::autograd::edge_list roots;
  };
  Sequences sequences;
  torch::Tensor embedded;  ///< undefined except on the first rank
  std::vector<Segment> segments;
  Residual state;  ///< the output of this rank's last block, a leaf
};

class LlamaImpl : public torch::nn::Module {
 public:
  /// Draws random weights where they will be used, because a large model does not fit on the host.
  /// A share's weights are the whole model's.
  explicit LlamaImpl(const LlamaOptions& options, torch::Device device = torch::kCPU,
                     const LlamaShare& share = {});

  /// Forward and backward: returns the mean loss of predicting `labels` (int64 [B, S]) from
  /// `tokens` (int64 [B, S]), and adds `factor` times its gradient to the parameters' gradients.
  /// Holds logits for only part of the batch at a time. Requires all blocks on this rank.
  [[nodiscard]] torch::Tensor train_on(const torch::Tensor& tokens, const torch::Tensor& labels,
                                       const torch::Tensor& documents, double factor,
                                       Keep keep = Keep::all);

  // The same in steps, for ranks with some of the blocks: forward, the loss on the last rank,
  // backward.

  /// Must precede the first part of a batch.
  void begin_batch();
  /// Runs this rank's blocks. `in` is the previous rank's output, see given().
  [[nodiscard]] LlamaPass forward(const torch::Tensor& tokens, const torch::Tensor& documents,
                                  const torch::Tensor& in, double factor, Keep keep);
  /// The input for the next rank: [B, S, width] (with shared matrices, this rank's tokens).
  [[nodiscard]] static torch::Tensor given(const LlamaPass& pass);
  /// On the last rank: the mean loss; `gradient` becomes that of given() by factor · loss.
  [[nodiscard]] torch::Tensor loss(LlamaPass& pass, const torch::Tensor& labels, double factor,
                                   torch::Tensor& gradient);
  /// Takes the gradient of given() and returns that of `in`; undefined on the first rank.
  [[nodiscard]] torch::Tensor backward(LlamaPass& pass, torch::Tensor gradient);

  /// Runs all blocks without gradients.
  [[nodiscard]] TokenLosses losses(const torch::Tensor& tokens, const torch::Tensor& labels,
                                   const torch::Tensor& documents);
  /// The same in steps: the input for the next rank, and on the last one the losses.
  [[nodiscard]] torch::Tensor evaluate(const torch::Tensor& tokens, const torch::Tensor& documents,
                                       const torch::Tensor& in);
  [[nodiscard]] TokenLosses losses_of(const torch::Tensor& evaluated, const torch::Tensor& labels);

  /// [B, S, vocabulary], with autograd throughout; for comparisons.
  [[nodiscard]] torch::Tensor logits(const torch::Tensor& tokens,
                                     const torch::Tensor& documents = {});

  /// From now on, unused parameters are in `store`, which must outlive the model's use.
  void keep_in(UnitStore& store) noexcept { store_ = &store; }
  /// The UnitStore unit of a parameter.
  [[nodiscard]] std::size_t unit_of(const std::string& parameter) const;

  /// Sets the type of activations: float, or the type to which weights are rounded.
  void compute_in(torch::ScalarType type) noexcept { type_ = type; }
  [[nodiscard]] torch::ScalarType type() const noexcept { return type_; }
  /// From now on, products of weights with bf16 activations are in fp8 if their sizes are multiples
  /// of 16. Throws Error of kind config if device, libtorch or build lack support.
  void multiply_in_fp8();
  /// Every matrix with its parameter's name, to receive a rounded copy.
  [[nodiscard]] std::vector<std::pair<std::string, Weight*>> weights();
  /// The parameters under Hugging Face's names (docs of transformers, LlamaForCausalLM), as views
  /// of this model's, so that copying into them loads a model. Leaves out a tied output.
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
  // The unit of the output matrix.
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
  UnitStore* store_ = nullptr;         // nullptr: parameters are always available
  torch::Tensor cosine_;               // for as many positions as needed so far
  torch::Tensor sine_;
};
TORCH_MODULE(Llama);

/// The angles' cosines and sines, float [length, head / 2].
[[nodiscard]] std::pair<torch::Tensor, torch::Tensor> rotary_tables(const LlamaOptions& options,
                                                                    std::int64_t length);

}  // namespace assay::train
