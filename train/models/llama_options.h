#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::train {

/// Llama 3's change of the rotary frequencies for contexts longer than it was first trained with:
/// wave lengths above original / low are divided by the factor, those below original / high are
/// kept, those in between are interpolated.
struct RotaryScaling {
  double factor = 0;  ///< 0: none
  double low = 1;
  double high = 4;
  double original = 8192;  ///< tokens
};

/// A decoder as Llama 3 is: RMSNorm before each part, rotary positions, grouped-query attention,
/// SwiGLU, no biases. No libtorch here: what plans a training needs the shape only.
struct LlamaOptions {
  std::int64_t vocabulary = 128'256;
  std::int64_t layers = 16;
  std::int64_t width = 2048;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 8;
  std::int64_t inner = 8192;
  bool tied = true;      ///< one matrix for input and output
  bool qk_norm = false;  ///< RMSNorm of each head's queries and keys
  /// Of a mixture: each token goes through `chosen` of so many MLPs of `inner`. 0: one MLP.
  std::int64_t experts = 0;
  std::int64_t chosen = 2;
  double balance = 0.01;  ///< weight of the loss that keeps experts alike in use, for each layer
  double epsilon = 1e-5;
  double rotary_base = 500'000;
  RotaryScaling scaling;

  /// One of sizes(). Throws Error of kind config.
  [[nodiscard]] static LlamaOptions named(const std::string& size);
  /// "tiny", "125m", "1b", "3b", "8b", "70b" and of mixtures "moe-tiny", "moe-4b"
  [[nodiscard]] static const std::vector<std::string>& sizes();

  /// Throws Error of kind config, with what would do, for heads that do not divide.
  void check() const;

  /// Of one head.
  [[nodiscard]] std::int64_t head() const noexcept { return width / heads; }
  /// Columns of queries, keys and values together.
  [[nodiscard]] std::int64_t qkv() const noexcept { return (heads + 2 * kv_heads) * head(); }

  [[nodiscard]] std::int64_t block_parameters() const noexcept;
  [[nodiscard]] std::int64_t embedding_parameters() const noexcept { return vocabulary * width; }
  [[nodiscard]] std::int64_t parameters() const noexcept;
  /// Those that one token passes: of the experts the chosen ones.
  [[nodiscard]] std::int64_t active_parameters() const noexcept;
  /// Model FLOPs of training on one token in sequences of `length`: six for each active parameter
  /// but the input embedding and the norms, and attention's products over the half that a causal
  /// mask leaves: 6 · layers · width · length.
  [[nodiscard]] double flops_per_token(std::int64_t length) const noexcept;

 private:
  /// The matrices of a block of which so many MLPs count.
  [[nodiscard]] std::int64_t block_matrices(std::int64_t mlps) const noexcept;
};

}  // namespace assay::train
