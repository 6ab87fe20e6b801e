#pragma once

#include <memory>
#include <vector>

#include "train/base/torch.h"
#include "train/cuda/fp8.h"

namespace assay::train {

/// The scales of all matrices rounded by a model's fp8 products, on its device: for each, the
/// format's largest number over the largest absolute value in the last steps (delayed scaling), so
/// that a matrix is rounded in the same pass that finds its largest value.
class Fp8Scales {
 public:
  /// For `products` weights, each with an input, the weight itself and a gradient.
  Fp8Scales(std::int64_t products, torch::Device device);

  /// Ends a step: its values count from now on.
  void advance() const;

 private:
  friend class Fp8Product;
  [[nodiscard]] cuda::Fp8History history() const;

  torch::Tensor limit_;
  torch::Tensor largest_;
  torch::Tensor past_;
  torch::Tensor step_;
  torch::Tensor scale_;
  torch::Tensor inverse_;
  // Whether a matrix has a scale: the first time, it is read once more to find one. That happens in
  // a plain step, never while a graph is captured.
  std::vector<bool> known_;
};

/// A matrix in fp8, as it is and transposed; either may be undefined.
struct Fp8Operand {
  torch::Tensor rows;
  torch::Tensor columns;
};
struct Fp8Wanted {
  bool rows = true;
  bool columns = true;
};

/// The products of one weight, y = x · weightᵀ and its two gradients. Inputs and weights are E4M3,
/// gradients E5M2; results are bf16, a weight's gradient float. Matrices have two dimensions.
class Fp8Product {
 public:
  Fp8Product(std::shared_ptr<Fp8Scales> scales, std::int64_t number)
      : scales_(std::move(scales)), number_(number) {}

  /// Whether rows of x can be multiplied with this weight in fp8.
  [[nodiscard]] static bool fits(const torch::Tensor& x, const torch::Tensor& weight);

  [[nodiscard]] Fp8Operand round_input(const torch::Tensor& x, Fp8Wanted wanted) const;
  [[nodiscard]] Fp8Operand round_gradient(const torch::Tensor& dy) const;
  /// The input silu(gate) · up, for [gate, up] in the columns.
  [[nodiscard]] Fp8Operand round_swiglu(const torch::Tensor& gate_up, Fp8Wanted wanted) const;
  /// The gradient of gate_up, this product's result, from that of silu(gate) · up.
  [[nodiscard]] Fp8Operand round_swiglu_gradient(const torch::Tensor& gate_up,
                                                 const torch::Tensor& dy) const;

  /// `weight` is bf16, [out, in].
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& x_rows,
                                      const torch::Tensor& weight) const;
  [[nodiscard]] torch::Tensor input_gradient(const Fp8Operand& dy,
                                             const torch::Tensor& weight) const;
  /// gradient += dyᵀ · x, or is set to it.
  void add_weight_gradient(torch::Tensor gradient, const Fp8Operand& dy,
                           const torch::Tensor& x_columns, bool overwrite) const;

 private:
  enum class Role : std::int64_t { input, weight, gradient };
  [[nodiscard]] std::int64_t place(Role role) const noexcept {
    return 3 * number_ + static_cast<std::int64_t>(role);
  }
  [[nodiscard]] torch::Tensor inverse(Role role) const {
    return scales_->inverse_.select(0, place(role)).select(0, 0);
  }
  // Makes the operand and calls write(matrix to write to), twice if the scale is not known yet.
  template <typename Write>
  [[nodiscard]] Fp8Operand round(Role role, const torch::Tensor& like, std::int64_t columns,
                                 Fp8Wanted wanted, const Write& write) const;
  [[nodiscard]] Fp8Operand round_weight(const torch::Tensor& weight, Fp8Wanted wanted) const;

  std::shared_ptr<Fp8Scales> scales_;
  std::int64_t number_;
};

/// Whether this libtorch and this device support products in fp8.
[[nodiscard]] bool has_fp8_products(torch::Device device);

}  // namespace assay::train
