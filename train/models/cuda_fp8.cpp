#include "train/models/cuda_fp8.h"

#include "core/error.h"
#include "train/cuda/tensors.h"

namespace assay::train {
namespace {

cuda::Matrix shape_of_matrix(const torch::Tensor& x) {
  return {x.size(0), x.size(1)};
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)

constexpr auto kInputType = at::ScalarType::Float8_e4m3fn;
constexpr auto kGradientType = at::ScalarType::Float8_e5m2;

// a · bᵀ for [m, k] and [n, k]. With `fast`, tensor cores accumulate with about 14 bits, which
// should not be used for sums over thousands of tokens.
torch::Tensor multiplied(const torch::Tensor& a, const torch::Tensor& b,
                         const torch::Tensor& scale_a, const torch::Tensor& scale_b) {
  return at::_scaled_mm(a, b.t(), scale_a, scale_b, {}, {}, torch::kBFloat16,
                        /*use_fast_accum=*/true);
}

void multiply_into(torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b,
                   const torch::Tensor& scale_a, const torch::Tensor& scale_b) {
  at::_scaled_mm_out(out, a, b.t(), scale_a, scale_b, {}, {}, out.scalar_type(),
                     /*use_fast_accum=*/false);
}

constexpr bool kHasProducts = true;

#else

constexpr auto kInputType = torch::kByte;
constexpr auto kGradientType = torch::kByte;
constexpr bool kHasProducts = false;

torch::Tensor multiplied(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&,
                         const torch::Tensor&) {
  throw Error(ErrorKind::internal, "this libtorch has no products in fp8");
}
void multiply_into(torch::Tensor&, const torch::Tensor&, const torch::Tensor&, const torch::Tensor&,
                   const torch::Tensor&) {
  throw Error(ErrorKind::internal, "this libtorch has no products in fp8");
}

#endif

}  // namespace

bool has_fp8_products(torch::Device device) {
  if (!kHasProducts || !device.is_cuda()) return false;
  const cudaDeviceProp* const properties = at::cuda::getDeviceProperties(device.index());
  return 10 * properties->major + properties->minor >= 89;
}

Fp8Scales::Fp8Scales(std::int64_t products, torch::Device device)
    : known_(static_cast<std::size_t>(3 * products), false) {
  const auto floats = torch::TensorOptions(torch::kFloat).device(device);
  const std::int64_t matrices = 3 * products;
  const float values = cuda::largest_of(cuda::Fp8::e4m3);
  const float gradients = cuda::largest_of(cuda::Fp8::e5m2);
  limit_ = torch::tensor({values, values, gradients}).repeat({products}).to(device);
  largest_ = torch::zeros({matrices}, floats);
  past_ = torch::zeros({matrices, cuda::kFp8Steps}, floats);
  step_ = torch::zeros({1}, floats.dtype(torch::kInt));
  scale_ = torch::ones({matrices}, floats);
  inverse_ = torch::ones({matrices, cuda::kFp8Apart}, floats);
}

cuda::Fp8History Fp8Scales::history() const {
  return {limit_.numel(),
          limit_.data_ptr<float>(),
          largest_.data_ptr<float>(),
          past_.data_ptr<float>(),
          step_.data_ptr<std::int32_t>(),
          scale_.data_ptr<float>(),
          inverse_.data_ptr<float>()};
}

void Fp8Scales::advance() const {
  cuda::advance_fp8(cuda::current_stream(), history());
}

bool Fp8Product::fits(const torch::Tensor& x, const torch::Tensor& weight) {
  constexpr std::int64_t kMultiple = 16;
  return x.is_cuda() && x.scalar_type() == torch::kBFloat16 &&
         x.numel() / x.size(-1) % kMultiple == 0 && weight.size(0) % kMultiple == 0 &&
         weight.size(1) % kMultiple == 0;
}

template <typename Write>
Fp8Operand Fp8Product::round(Role role, const torch::Tensor& like, std::int64_t columns,
                             Fp8Wanted wanted, const Write& write) const {
  const std::int64_t at = place(role);
  cuda::Fp8Matrix to;
  to.format = role == Role::gradient ? cuda::Fp8::e5m2 : cuda::Fp8::e4m3;
  to.scale = scales_->scale_.data_ptr<float>() + at;
  to.largest = scales_->largest_.data_ptr<float>() + at;
  if (!scales_->known_[static_cast<std::size_t>(at)]) {
    write(to);
    cuda::begin_fp8(cuda::current_stream(), scales_->history(), at);
    scales_->known_[static_cast<std::size_t>(at)] = true;
  }
  const auto options = like.options().dtype(role == Role::gradient ? kGradientType : kInputType);
  const std::int64_t rows = like.size(0);
  Fp8Operand out;
  if (wanted.rows) {
    out.rows = torch::empty({rows, columns}, options);
    to.rows = out.rows.data_ptr();
  }
  if (wanted.columns) {
    out.columns = torch::empty({columns, rows}, options);
    to.columns = out.columns.data_ptr();
  }
  write(to);
  return out;
}

Fp8Operand Fp8Product::round_input(const torch::Tensor& x, Fp8Wanted wanted) const {
  return round(Role::input, x, x.size(1), wanted, [&](const cuda::Fp8Matrix& to) {
    cuda::round_to_fp8(cuda::current_stream(), shape_of_matrix(x), x.data_ptr(), to);
  });
}

Fp8Operand Fp8Product::round_weight(const torch::Tensor& weight, Fp8Wanted wanted) const {
  return round(Role::weight, weight, weight.size(1), wanted, [&](const cuda::Fp8Matrix& to) {
    cuda::round_to_fp8(cuda::current_stream(), shape_of_matrix(weight), weight.data_ptr(), to);
  });
}

Fp8Operand Fp8Product::round_gradient(const torch::Tensor& dy) const {
  return round(Role::gradient, dy, dy.size(1), {}, [&](const cuda::Fp8Matrix& to) {
    cuda::round_to_fp8(cuda::current_stream(), shape_of_matrix(dy), dy.data_ptr(), to);
  });
}

Fp8Operand Fp8Product::round_swiglu(const torch::Tensor& gate_up, Fp8Wanted wanted) const {
  const cuda::Matrix product{gate_up.size(0), gate_up.size(1) / 2};
  return round(Role::input, gate_up, product.columns, wanted, [&](const cuda::Fp8Matrix& to) {
    cuda::swiglu_to_fp8(cuda::current_stream(), product, gate_up.data_ptr(), to);
  });
}

Fp8Operand Fp8Product::round_swiglu_gradient(const torch::Tensor& gate_up,
                                             const torch::Tensor& dy) const {
  return round(Role::gradient, gate_up, gate_up.size(1), {}, [&](const cuda::Fp8Matrix& to) {
    cuda::swiglu_gradient_to_fp8(cuda::current_stream(), shape_of_matrix(dy), gate_up.data_ptr(),
                                 dy.data_ptr(), to);
  });
}

torch::Tensor Fp8Product::forward(const torch::Tensor& x_rows, const torch::Tensor& weight) const {
  const torch::Tensor rounded = round_weight(weight, {true, false}).rows;
  return multiplied(x_rows, rounded, inverse(Role::input), inverse(Role::weight));
}

torch::Tensor Fp8Product::input_gradient(const Fp8Operand& dy, const torch::Tensor& weight) const {
  const torch::Tensor rounded = round_weight(weight, {false, true}).columns;
  return multiplied(dy.rows, rounded, inverse(Role::gradient), inverse(Role::weight));
}

void Fp8Product::add_weight_gradient(torch::Tensor gradient, const Fp8Operand& dy,
                                     const torch::Tensor& x_columns, bool overwrite) const {
  torch::Tensor to = overwrite ? gradient : torch::empty_like(gradient);
  multiply_into(to, dy.columns, x_columns, inverse(Role::gradient), inverse(Role::input));
  if (!overwrite) gradient.add_(to);
}

}  // namespace assay::train
