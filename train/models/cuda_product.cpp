#include "train/models/cuda_product.h"

#include "train/cuda/llama_kernels.h"
#include "train/cuda/tensors.h"

namespace assay::train {
namespace {

struct HeldProduct : torch::CustomClassHolder {
  explicit HeldProduct(const CudaProduct& of) : product(of) {}
  CudaProduct product;
};

torch::Tensor swiglu_of(const torch::Tensor& gate_up) {
  torch::Tensor y = torch::empty({gate_up.size(0), gate_up.size(1) / 2}, gate_up.options());
  cuda::swiglu_forward(cuda::current_stream(), cuda::type_of(gate_up), {y.size(0), y.size(1)},
                       gate_up.data_ptr(), y.data_ptr());
  return y;
}

}  // namespace

torch::Tensor matrix_of(const torch::Tensor& x) {
  return x.contiguous().view({-1, x.size(-1)});
}

CudaProduct::CudaProduct(const Weight& weight, const torch::Tensor& x)
    : value_(weight.value),
      rounded_(weight.as(x.scalar_type()).detach()),
      overwrite_(weight.overwrite),
      fp8_(weight.fp8 && Fp8Product::fits(x, weight.value) ? weight.fp8 : nullptr) {}

CudaProduct::Forward CudaProduct::forward(const torch::Tensor& rows, bool keep) const {
  if (!fp8_) return {matrix_product(rows, rounded_), keep ? rows : torch::Tensor()};
  const Fp8Operand x = fp8_->round_input(rows, {true, keep});
  return {fp8_->forward(x.rows, rounded_), x.columns};
}

CudaProduct::Forward CudaProduct::forward_swiglu(const torch::Tensor& gate_up, bool keep) const {
  if (!fp8_) return forward(swiglu_of(gate_up), keep);
  const Fp8Operand x = fp8_->round_swiglu(gate_up, {true, keep});
  return {fp8_->forward(x.rows, rounded_), x.columns};
}

torch::Tensor CudaProduct::kept(const torch::Tensor& rows) const {
  return fp8_ ? fp8_->round_input(rows, {false, true}).columns : rows;
}

torch::Tensor CudaProduct::backward(const torch::Tensor& dy, const torch::Tensor& kept) const {
  if (fp8_) return backward(fp8_->round_gradient(dy), kept);
  add_weight_gradient(dy, kept);
  return input_gradient(dy, rounded_);
}

torch::Tensor CudaProduct::backward(const Fp8Operand& dy, const torch::Tensor& kept) const {
  fp8_->add_weight_gradient(gradient_of(value_), dy, kept, overwrite_);
  return fp8_->input_gradient(dy, rounded_);
}

void CudaProduct::add_weight_gradient(const torch::Tensor& dy, const torch::Tensor& kept) const {
  train::add_weight_gradient(value_, dy, kept, overwrite_);
}

c10::IValue CudaProduct::held() const {
  return c10::IValue::make_capsule(c10::make_intrusive<HeldProduct>(*this));
}

const CudaProduct& CudaProduct::of(const c10::IValue& held) {
  return c10::static_intrusive_pointer_cast<HeldProduct>(held.toCapsule())->product;
}

torch::autograd::variable_list saved_normed_input(const Normed& in, const torch::Tensor& kept,
                                                  Keep keep) {
  if (keep == Keep::selective) return {matrix_of(in.sum.detach()), in.weight.detach()};
  return {kept, torch::Tensor()};
}

torch::Tensor kept_normed_input(const CudaProduct& product, const torch::Tensor& saved,
                                const torch::Tensor& norm_weight, double epsilon) {
  if (!norm_weight.defined()) return saved;
  torch::Tensor y = torch::empty_like(saved);
  const torch::Tensor inverse = cuda::floats(saved, {saved.size(0)});
  cuda::rms_norm_forward(cuda::current_stream(), cuda::type_of(saved),
                         {saved.size(0), saved.size(1)}, saved.data_ptr(), nullptr,
                         norm_weight.data_ptr<float>(), static_cast<float>(epsilon), nullptr,
                         y.data_ptr(), inverse.data_ptr<float>());
  return product.kept(y);
}

}  // namespace assay::train
