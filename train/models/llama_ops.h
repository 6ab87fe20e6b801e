#pragma once

#include <array>
#include <utility>

#include "train/models/llama.h"

namespace assay::train {

// The parts of a decoder's block. On CUDA devices they are kernels of our own where these were
// built; on the CPU in single precision attention calls oneDNN's sgemm (train/models/dense.h);
// elsewhere they are composed of libtorch's operators. Activations are of any floating type, norms
// and sums are float. Everything takes part in autograd.

/// sum = x + h (x, when h is undefined) and y = sum / rms(sum) · weight.
[[nodiscard]] Normed add_norm(const torch::Tensor& x, const torch::Tensor& h,
                              const torch::Tensor& weight, double epsilon);

/// x · weightᵀ over the last dimension. Backward adds the weight's gradient to where it is kept
/// (weight.value.grad(), made when there is none), in float, instead of giving it to autograd: a
/// product that adds to it saves a pass over memory.
[[nodiscard]] torch::Tensor project(const torch::Tensor& x, const Weight& weight);

/// Rows of the embedding, in `type`. The gradient as of project().
[[nodiscard]] torch::Tensor embed_tokens(const torch::Tensor& tokens, const Weight& weight,
                                         torch::ScalarType type);

/// Queries, keys and values, [B, S, heads or kv_heads, head]; the first two turned by their
/// positions' angles.
struct LlamaHeads {
  torch::Tensor q;
  torch::Tensor k;
  torch::Tensor v;
};

/// Turns pair (i, i + head / 2) of each head of x, [B, S, heads, head], by its position's angle.
[[nodiscard]] torch::Tensor rotate(const torch::Tensor& x, const Sequences& sequences);

/// Softmax of the scaled products over the positions that each may see; [B, S, heads · head].
[[nodiscard]] torch::Tensor causal_attention(const LlamaHeads& heads, const torch::Tensor& from);

/// silu(gate) · up, of [gate, up] in the last dimension.
[[nodiscard]] torch::Tensor swiglu(const torch::Tensor& gate_up);

/// down(swiglu(gate_up(in.y))).
[[nodiscard]] torch::Tensor feed_forward(const Normed& in, const Weight& gate_up,
                                         const Weight& down, Keep keep);

/// The losses of predicting `labels` (int64 [N]) from y ([N, width]) with the output matrix, a part
/// of the rows at a time, without autograd. With a `gradient`, dy = factor · d(mean loss) / dy is
/// written there, and the matrix's is added to where it is kept.
struct HeadGradient {
  double factor = 1;
  torch::Tensor dy;
};
[[nodiscard]] TokenLosses head_losses(const torch::Tensor& y, const Weight& weight,
                                      const torch::Tensor& labels, HeadGradient* gradient,
                                      bool count_right);

/// On CUDA devices with kernels of our own: products in 16 bits are computed from now on by the
/// algorithm that is the fastest in trials when a shape is first seen (train/models/cuda_gemm.h).
void time_products(bool wanted) noexcept;

/// x · weightᵀ of [N, in] and [out, in], both of the same type; without autograd.
[[nodiscard]] torch::Tensor matrix_product(const torch::Tensor& x, const torch::Tensor& weight);
/// weight.grad() += dyᵀ · x, of [N, out] and [N, in]; float, or rounded to the type that gradients
/// are kept in. With `overwrite` it is set to that.
void add_weight_gradient(torch::Tensor weight, const torch::Tensor& dy, const torch::Tensor& x,
                         bool overwrite);
/// weight.grad(), made of zeros when there is none.
[[nodiscard]] torch::Tensor gradient_of(torch::Tensor weight);
/// dy · weight, [N, in].
[[nodiscard]] torch::Tensor input_gradient(const torch::Tensor& dy, const torch::Tensor& weight);

}  // namespace assay::train
