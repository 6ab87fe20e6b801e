#pragma once

#include "train/models/llama_ops.h"

namespace assay::train {

// The parts of llama_ops.h on CUDA devices, with our own kernels (train/cuda/llama_kernels.h).

/// Whether there are kernels for activations of this device, type and number of columns.
[[nodiscard]] bool cuda_llama_fits(const torch::Tensor& x);
/// The same, also for a norm of its rows.
[[nodiscard]] bool cuda_rms_norm_fits(const torch::Tensor& x);

[[nodiscard]] Normed cuda_add_norm(const torch::Tensor& x, const torch::Tensor& h,
                                   const torch::Tensor& weight, double epsilon);

/// Queries, keys and values of in.y as views of one packed product, rotated in place.
[[nodiscard]] LlamaHeads cuda_project_heads(const Normed& in, const Weight& weight,
                                            std::int64_t head, std::int64_t kv_heads,
                                            const Sequences& sequences, Keep keep);

/// Requires cuda_rms_norm_fits(in.sum) and an inner width that is a multiple of 16.
[[nodiscard]] torch::Tensor cuda_feed_forward(const Normed& in, const Weight& gate_up,
                                              const Weight& down, Keep keep);

/// project() for a weight with suitable products in fp8.
[[nodiscard]] torch::Tensor cuda_fp8_project(const torch::Tensor& x, const Weight& weight);

[[nodiscard]] torch::Tensor cuda_swiglu(const torch::Tensor& gate_up);

/// The loss of each row of logits (contiguous); with `gradient`, the logits become share · d(loss).
[[nodiscard]] torch::Tensor cuda_cross_entropy_in_place(torch::Tensor& logits,
                                                        const torch::Tensor& labels, bool gradient,
                                                        double share);

}  // namespace assay::train
