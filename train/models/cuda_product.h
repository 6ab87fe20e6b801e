#pragma once

#include "train/models/cuda_fp8.h"
#include "train/models/llama_ops.h"

namespace assay::train {

/// x · weightᵀ on a CUDA device within an autograd function, in the activations' type or in fp8.
/// Matrices have two dimensions.
class CudaProduct {
 public:
  /// Of activations like x.
  CudaProduct(const Weight& weight, const torch::Tensor& x);

  struct Forward {
    torch::Tensor y;
    torch::Tensor
        kept;  ///< what backward() wants of the input; undefined when it is not to be kept
  };
  [[nodiscard]] Forward forward(const torch::Tensor& rows, bool keep) const;
  /// What forward() keeps, of an input that was computed again.
  [[nodiscard]] torch::Tensor kept(const torch::Tensor& rows) const;

  /// Sees to the weight's gradient and gives the input's.
  [[nodiscard]] torch::Tensor backward(const torch::Tensor& dy, const torch::Tensor& kept) const;

  /// silu(gate) · up as the input.
  [[nodiscard]] Forward forward_swiglu(const torch::Tensor& gate_up, bool keep) const;

  [[nodiscard]] const torch::Tensor& rounded() const noexcept { return rounded_; }
  [[nodiscard]] const std::shared_ptr<Fp8Product>& fp8() const noexcept { return fp8_; }
  void add_weight_gradient(const torch::Tensor& dy, const torch::Tensor& kept) const;
  [[nodiscard]] torch::Tensor backward(const Fp8Operand& dy, const torch::Tensor& kept) const;

  /// Between the forward and the backward of an autograd function.
  [[nodiscard]] c10::IValue held() const;
  [[nodiscard]] static const CudaProduct& of(const c10::IValue& held);

 private:
  torch::Tensor value_;
  torch::Tensor rounded_;
  bool overwrite_;
  std::shared_ptr<Fp8Product> fp8_;  // null: in the activations' type
};

/// The normed rows of a product's input: as they were, or computed again from their sum.
class CudaNormedInput {
 public:
  /// What is saved for backward: two tensors.
  [[nodiscard]] static torch::autograd::variable_list saved(const Normed& in,
                                                            const torch::Tensor& kept, Keep keep);
  [[nodiscard]] static torch::Tensor kept(const CudaProduct& product, const torch::Tensor& saved,
                                          const torch::Tensor& norm_weight, double epsilon);
};

}  // namespace assay::train
