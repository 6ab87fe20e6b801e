#pragma once

#include <array>
#include <utility>

#include "train/models/llama.h"

namespace assay::train {

// The parts of a decoder's block. On CUDA devices these are our own kernels if built; on the CPU in
// single precision attention calls oneDNN's sgemm (train/models/dense.h); elsewhere they are
// composed of libtorch's operators. Activations have any floating type, norms and sums are float.
// Everything supports autograd.

/// sum = x + h (x, if h is undefined) and y = sum / rms(sum) · weight.
[[nodiscard]] Normed add_norm(const torch::Tensor& x, const torch::Tensor& h,
                              const torch::Tensor& weight, double epsilon);

/// x · weightᵀ over the last dimension of x. Backward does not return the weight's gradient to
/// autograd but adds it in place (weight.value.grad(), created if missing), in float: a product
/// that adds to it saves a pass over memory.
[[nodiscard]] torch::Tensor project(const torch::Tensor& x, const Weight& weight);

/// Rows of the embedding, in `type`. Its gradient is handled as in project().
[[nodiscard]] torch::Tensor embed_tokens(const torch::Tensor& tokens, const Weight& weight,
                                         torch::ScalarType type);

/// Queries, keys and values, [B, S, heads or kv_heads, head]; the first two are rotated by their
/// positions' angles.
struct LlamaHeads {
  torch::Tensor q;
  torch::Tensor k;
  torch::Tensor v;
};

/// Rotates pair (i, i + head / 2) of each head of x, [B, S, heads, head], by its position's angle.
[[nodiscard]] torch::Tensor rotate(const torch::Tensor& x, const Sequences& sequences);

/// Softmax of the scaled products over the visible positions; [B, S, heads · head].
[[nodiscard]] torch::Tensor causal_attention(const LlamaHeads& heads, const torch::Tensor& from);

/// silu(gate) · up, for [gate, up] in the last dimension.
[[nodiscard]] torch::Tensor swiglu(const torch::Tensor& gate_up);

/// down(swiglu(gate_up(in.y))).
[[nodiscard]] torch::Tensor feed_forward(const Normed& in, const Weight& gate_up,
                                         const Weight& down, Keep keep);

/// The losses of predicting `labels` (int64 [N]) from y ([N, width]) with the output matrix, for
/// part of the rows at a time, without autograd. With a `gradient`, writes dy = factor · d(mean
/// loss) / dy there and adds the matrix's gradient in place.
struct HeadGradient {
  double factor = 1;
  torch::Tensor dy;
};
[[nodiscard]] TokenLosses head_losses(const torch::Tensor& y, const Weight& weight,
                                      const torch::Tensor& labels, HeadGradient* gradient,
                                      bool count_right);

/// On CUDA devices with our own kernels: from now on, 16-bit products use the algorithm that is
/// fastest in trials when a shape is first seen (train/models/cuda_gemm.h).
void time_products(bool wanted) noexcept;

/// x · weightᵀ for [N, in] and [out, in] of the same type; without autograd.
[[nodiscard]] torch::Tensor matrix_product(const torch::Tensor& x, const torch::Tensor& weight);
/// weight.grad() += dyᵀ · x, for [N, out] and [N, in], in float or rounded to the type in which
/// gradients are kept. With `overwrite`, sets it to that.
void add_weight_gradient(torch::Tensor weight, const torch::Tensor& dy, const torch::Tensor& x,
                         bool overwrite);
/// weight.grad(), created as zeros if missing.
[[nodiscard]] torch::Tensor gradient_of(torch::Tensor weight);
/// dy · weight, [N, in].
[[nodiscard]] torch::Tensor input_gradient(const torch::Tensor& dy, const torch::Tensor& weight);

}  // namespace assay::train
