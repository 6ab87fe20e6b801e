#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::train {

/// Llama 3's change of the rotary frequencies for contexts longer than in its first training:
/// wavelengths above original / low are divided by the factor, those below original / high are
/// kept, those in between are interpolated.
struct RotaryScaling {
  double factor = 0;  ///< 0: none
  double low = 1;
  double high = 4;
  double original = 8192;  ///< in tokens
};

/// A decoder like Llama 3: RMSNorm before each part, rotary positions, grouped-query attention,
/// SwiGLU, no biases. Uses no libtorch, because planning a training requires only the shape.
struct LlamaOptions {
  std::int64_t vocabulary = 128'256;
  std::int64_t layers = 16;
  std::int64_t width = 2048;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 8;
  std::int64_t inner = 8192;
  bool tied = true;      ///< one matrix for input and output
  bool qk_norm = false;  ///< RMSNorm for each head's queries and keys
  /// For a mixture: each token passes `chosen` of this many MLPs of width `inner`. 0: one MLP.
  std::int64_t experts = 0;
  std::int64_t chosen = 2;
  double balance = 0.01;  ///< weight, per layer, of the loss that balances the use of experts
  double epsilon = 1e-5;
  double rotary_base = 500'000;
  RotaryScaling scaling;

  /// The model of one of sizes(). Throws Error of kind config.
  [[nodiscard]] static LlamaOptions named(const std::string& size);
  /// "tiny", "125m", "1b", "3b", "8b", "70b" and the mixtures "moe-tiny", "moe-4b"
  [[nodiscard]] static const std::vector<std::string>& sizes();

  /// Throws Error of kind config, with valid alternatives, if the heads do not divide.
  void check() const;

  /// The width of a head.
  [[nodiscard]] std::int64_t head() const noexcept { return width / heads; }
  /// Columns of queries, keys and values together.
  [[nodiscard]] std::int64_t qkv() const noexcept { return (heads + 2 * kv_heads) * head(); }

  [[nodiscard]] std::int64_t block_parameters() const noexcept;
  [[nodiscard]] std::int64_t embedding_parameters() const noexcept { return vocabulary * width; }
  [[nodiscard]] std::int64_t parameters() const noexcept;
  /// The parameters used by one token: of the experts, only the chosen ones.
  [[nodiscard]] std::int64_t active_parameters() const noexcept;
  /// Model FLOPs for training on one token in sequences of `length`: six per active parameter
  /// except the input embedding and the norms, plus attention's products over the half left by a
  /// causal mask: 6 · layers · width · length.
  [[nodiscard]] double flops_per_token(std::int64_t length) const noexcept;

 private:
  /// The parameters of a block's matrices, counting this many MLPs.
  [[nodiscard]] std::int64_t block_matrices(std::int64_t mlps) const noexcept;
};

}  // namespace assay::train
