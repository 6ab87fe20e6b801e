#pragma once

#include <string>
#include <vector>

#include "train/models/fork.h"

namespace assay::train {

/// BERT for pre-training (Devlin et al. 2018): post-norm encoder, learned positions and segments,
/// exact GELU, masked-language head tied to the word embedding, next-sentence head on the pooled
/// first token.
struct BertOptions {
  std::int64_t vocabulary = 30522;
  std::int64_t layers = 24;
  std::int64_t width = 1024;
  std::int64_t heads = 16;
  std::int64_t inner = 4096;
  std::int64_t positions = 512;
  std::int64_t segments = 2;
  double dropout = 0.1;

  /// size is "tiny" (2 × 128), "base" (12 × 768) or "large" (24 × 1024).
  [[nodiscard]] static BertOptions named(const std::string& size);
};

/// BERT's inputs, all on the model's device.
struct BertInput {
  torch::Tensor tokens;    ///< int64 [B, S]
  torch::Tensor segments;  ///< int64 [B, S]
  torch::Tensor mask;      ///< undefined: all positions count; else additive, float [B, 1, 1, S]
  torch::Tensor picked;    ///< int64 [M]: b · S + position of each token to predict
};

struct BertOutput {
  torch::Tensor words;         ///< logits [M, vocabulary], only at the picked positions
  torch::Tensor padded_words;  ///< `words` is a view of its first columns
  torch::Tensor next;          ///< logits [B, 2]
};

/// The mean over the picked positions with a label other than `ignored`, as a float.
[[nodiscard]] torch::Tensor word_loss(const BertOutput& output, const torch::Tensor& labels,
                                      std::int64_t ignored, double smoothing);

class BertLayerImpl : public torch::nn::Module {
 public:
  explicit BertLayerImpl(const BertOptions& options);
  [[nodiscard]] Fork forward(const Fork& x, const torch::Tensor& mask);

 private:
  std::int64_t heads_;
  double dropout_;
  torch::nn::Linear qkv_{nullptr};
  torch::nn::Linear out_{nullptr};
  torch::nn::LayerNorm norm1_{nullptr};
  torch::nn::Linear up_{nullptr};
  torch::nn::Linear down_{nullptr};
  torch::nn::LayerNorm norm2_{nullptr};
};
TORCH_MODULE(BertLayer);

class BertImpl : public torch::nn::Module {
 public:
  explicit BertImpl(const BertOptions& options);
  [[nodiscard]] BertOutput forward(const BertInput& input);
  [[nodiscard]] const BertOptions& options() const noexcept { return options_; }

 private:
  BertOptions options_;
  torch::nn::Embedding words_{nullptr};
  torch::nn::Embedding positions_{nullptr};
  torch::nn::Embedding segments_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  std::vector<BertLayer> layers_;
  torch::nn::Linear pooler_{nullptr};
  torch::nn::Linear transform_{nullptr};
  torch::nn::LayerNorm transform_norm_{nullptr};
  torch::Tensor decoder_bias_;
  torch::nn::Linear next_{nullptr};
};
TORCH_MODULE(Bert);

}  // namespace assay::train
