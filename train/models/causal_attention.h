#pragma once

#include "train/base/torch.h"

namespace assay::train {

/// Causal attention on the CPU, in float, with oneDNN's sgemm (requires has_fast_gemm()): q is [B,
/// S, heads, D], k and v are [B, S, kv_heads, D], kv_heads divides heads. `from` is undefined or
/// int32 [B, S]: the first visible position for each. Returns [B, S, heads · D]. Supports autograd.
[[nodiscard]] torch::Tensor cpu_causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                                                 const torch::Tensor& v, const torch::Tensor& from);

}  // namespace assay::train
