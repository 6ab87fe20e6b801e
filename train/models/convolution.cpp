#include "train/models/convolution.h"

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor every(const torch::Tensor& x, std::int64_t stride) {
  return x.slice(2, 0, x.size(2), stride).slice(3, 0, x.size(3), stride);
}

// Every stride-th pixel of every stride-th row: all that a 1×1 window sees.
struct Subsample : torch::autograd::Function<Subsample> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               std::int64_t stride) {
    context->saved_data["shape"] = x.sizes();
    context->saved_data["stride"] = stride;
    return every(x, stride).contiguous(x.suggest_memory_format());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor& dy = gradients[0];
    torch::Tensor dx = torch::empty(context->saved_data["shape"].toIntVector(), dy.options(),
                                    dy.suggest_memory_format())
                           .zero_();
    every(dx, context->saved_data["stride"].toInt()).copy_(dy);
    return {dx, torch::Tensor()};
  }
};

// Whether every row (or column) of the window is on the image in some position.
bool is_all_used(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                 std::int64_t padding) {
  const std::int64_t last = (size + 2 * padding - kernel) / stride * stride;  // its last position
  for (std::int64_t at = 0; at < kernel; ++at) {
    // The first position at which `at` is not before the image.
    const std::int64_t first = at >= padding ? 0 : (padding - at + stride - 1) / stride * stride;
    if (first > last || first + at - padding >= size) return false;
  }
  return true;
}

// oneDNN's bfloat16 kernels process channels in pairs. With an odd number they read outside the
// image or give wrong gradients, and they leave the gradient of an unused part of the window as it
// was in memory.
bool fits_bfloat16(const torch::Tensor& x, const torch::Tensor& weight, std::int64_t stride,
                   std::int64_t padding) {
  const std::int64_t kernel = weight.size(2);
  return x.size(1) % 2 == 0 && weight.size(0) % 2 == 0 &&
         is_all_used(x.size(2), kernel, stride, padding) &&
         is_all_used(x.size(3), kernel, stride, padding);
}

// While it lives, this thread's operators keep their types.
class NoAutocast {
 public:
  NoAutocast() : was_(autocast_enabled(torch::kCPU)) { set(false); }
  ~NoAutocast() { set(was_); }
  NoAutocast(const NoAutocast&) = delete;
  NoAutocast& operator=(const NoAutocast&) = delete;

 private:
  static void set(bool on) { set_autocast(torch::kCPU, on, autocast_type(torch::kCPU)); }
  bool was_;
};

}  // namespace

torch::Tensor convolution(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias, std::int64_t stride, std::int64_t padding) {
  if (!x.device().is_cpu()) return torch::conv2d(x, weight, bias, stride, padding);
  torch::Tensor pixels = x;
  if (weight.size(2) == 1 && stride > 1 && padding == 0) {
    pixels = Subsample::apply(x, stride);
    stride = 1;
  }
  const torch::ScalarType type =
      autocast_enabled(torch::kCPU) ? autocast_type(torch::kCPU) : x.scalar_type();
  if (type != torch::kBFloat16 || fits_bfloat16(pixels, weight, stride, padding))
    return torch::conv2d(pixels, weight, bias, stride, padding);
  const NoAutocast no_autocast;
  const auto exact = [](const torch::Tensor& tensor) {
    return tensor.defined() ? tensor.to(torch::kFloat) : tensor;
  };
  return torch::conv2d(exact(pixels), exact(weight), exact(bias), stride, padding).to(type);
}

}  // namespace assay::train
