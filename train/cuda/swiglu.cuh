#pragma once

// SwiGLU of one element, for kernels that include it.

namespace assay::train::cuda {

__device__ __forceinline__ float sigmoid(float x) {
  return __fdividef(1.0F, 1.0F + __expf(-x));
}

/// Given d, the gradient of silu(gate) · up, replaces gate and up by theirs; returns the value.
__device__ __forceinline__ float swiglu_gradient(float d, float& gate, float& up) {
  const float share = sigmoid(gate);
  const float silu = gate * share;
  const float value = silu * up;
  gate = d * up * share * (1 + gate * (1 - share));
  up = d * silu;
  return value;
}

}  // namespace assay::train::cuda
