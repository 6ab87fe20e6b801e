#pragma once

#include "train/models/cuda_fp8.h"
#include "train/models/llama_ops.h"

namespace assay::train {

/// x as a matrix with rows of its last dimension.
[[nodiscard]] torch::Tensor matrix_of(const torch::Tensor& x);

/// x · weightᵀ on a CUDA device within an autograd function, in the activations' type or in fp8.
/// Matrices have two dimensions.
class CudaProduct {
 public:
  /// For activations like x.
  CudaProduct(const Weight& weight, const torch::Tensor& x);

  struct Forward {
    torch::Tensor y;
    torch::Tensor kept;  ///< backward()'s data from the input, or undefined
  };
  [[nodiscard]] Forward forward(const torch::Tensor& rows, bool keep) const;
  /// The data that forward() would keep, for an input that was recomputed.
  [[nodiscard]] torch::Tensor kept(const torch::Tensor& rows) const;

  /// Handles the weight's gradient and returns the input's.
  [[nodiscard]] torch::Tensor backward(const torch::Tensor& dy, const torch::Tensor& kept) const;

  /// Uses silu(gate) · up as the input.
  [[nodiscard]] Forward forward_swiglu(const torch::Tensor& gate_up, bool keep) const;

  [[nodiscard]] const torch::Tensor& rounded() const noexcept { return rounded_; }
  [[nodiscard]] const std::shared_ptr<Fp8Product>& fp8() const noexcept { return fp8_; }
  void add_weight_gradient(const torch::Tensor& dy, const torch::Tensor& kept) const;
  [[nodiscard]] torch::Tensor backward(const Fp8Operand& dy, const torch::Tensor& kept) const;

  /// Passes this from an autograd function's forward to its backward.
  [[nodiscard]] c10::IValue held() const;
  [[nodiscard]] static const CudaProduct& of(const c10::IValue& held);

 private:
  torch::Tensor value_;
  torch::Tensor rounded_;
  bool overwrite_;
  std::shared_ptr<Fp8Product> fp8_;  // null: uses the activations' type
};

/// The two tensors that an autograd function saves for the normalized rows read by a product: what
/// the product keeps of them, or, with Keep::selective, the inputs for recomputing them.
[[nodiscard]] torch::autograd::variable_list saved_normed_input(const Normed& in,
                                                                const torch::Tensor& kept,
                                                                Keep keep);
/// The data that the product keeps, from these two.
[[nodiscard]] torch::Tensor kept_normed_input(const CudaProduct& product,
                                              const torch::Tensor& saved,
                                              const torch::Tensor& norm_weight, double epsilon);

}  // namespace assay::train
