#include "kernels/kernel_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "train/models/convolution.h"
#include "train/models/dense.h"

namespace assay::testing {
namespace {

Numbers numbers_of(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kDouble).contiguous().flatten();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// Sums of `terms` products of numbers around 1 are as exact as their size, √terms, allows, and a
// result of 16 bits is rounded: by at most half of its last place, 2⁻⁹ of it, and once more where a
// kernel adds the bias to what it has rounded.
std::string compared(const char* what, const torch::Tensor& got, const Numbers& expected,
                     std::int64_t terms) {
  if (!got.defined()) return fmt::format("no {}; ", what);
  const Numbers mine = numbers_of(got);
  if (mine.size() != expected.size()) return fmt::format("{} has {} values; ", what, mine.size());
  const bool is_float = got.scalar_type() == torch::kFloat;
  const double rounding = is_float ? 0 : 0x1p-8;
  double worst = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const double difference = std::abs(mine[i] - expected[i]) - rounding * std::abs(expected[i]);
    worst = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                   : std::max(worst, difference);
  }
  worst /= std::sqrt(static_cast<double>(terms));
  const double limit = is_float ? 3e-5 : 5e-2;
  return worst <= limit ? "" : fmt::format("{} off by {:.2g}; ", what, worst);
}

// Of a type and in a format, which is what is given to the kernel and to the loops.
torch::Tensor random_tensor(std::vector<std::int64_t> shape, Layout layout,
                            torch::ScalarType type) {
  torch::Tensor values = torch::randn(shape).to(type);
  if (layout == Layout::nhwc && values.dim() == 4)
    values = values.contiguous(torch::MemoryFormat::ChannelsLast);
  return values;
}

const char* type_name(torch::ScalarType type) {
  return type == torch::kFloat ? "f32" : "bf16";
}

}  // namespace

torch::Tensor train_convolution(const torch::Tensor& x, const torch::Tensor& weight,
                                const torch::Tensor& bias, const ConvolutionShape& shape) {
  return train::convolution(x, weight, bias, shape.stride, shape.padding);
}

KernelCase convolution_case(const ConvolutionShape& s, Layout layout, torch::ScalarType type,
                            const Convolve& convolve_with) {
  std::string name =
      fmt::format("conv {} {} n{} {}->{} {}x{} k{} s{} p{} d{} g{}", type_name(type),
                  layout == Layout::nhwc ? "nhwc" : "nchw", s.batch, s.in, s.out, s.height, s.width,
                  s.kernel, s.stride, s.padding, s.dilation, s.groups);
  const auto run = [s, layout, type, convolve_with]() -> std::string {
    torch::manual_seed(1);
    const auto random = [&](std::vector<std::int64_t> shape) {
      return random_tensor(std::move(shape), layout, type);
    };
    torch::Tensor x = random({s.batch, s.in, s.height, s.width});
    torch::Tensor w = random({s.out, s.in / s.groups, s.kernel, s.kernel});
    torch::Tensor bias = random({s.out});
    const torch::Tensor dy = random({s.batch, s.out, s.out_height(), s.out_width()});
    ConvolutionNumbers plain;
    plain.x = numbers_of(x);
    plain.w = numbers_of(w);
    plain.bias = numbers_of(bias);
    plain.dy = numbers_of(dy);
    convolve(s, plain);
    for (torch::Tensor* tensor : {&x, &w, &bias}) tensor->requires_grad_();
    const torch::Tensor y = convolve_with(x, w, bias, s);
    y.backward(dy);
    const std::int64_t window = s.kernel * s.kernel;
    const std::int64_t places = s.batch * s.out_height() * s.out_width();
    return compared("y", y, plain.y, s.in / s.groups * window) +
           compared("dx", x.grad(), plain.dx, s.out / s.groups * window) +
           compared("dw", w.grad(), plain.dw, places) +
           compared("db", bias.grad(), plain.db, places);
  };
  return {std::move(name), run};
}

KernelCase linear_case(std::int64_t rows, std::int64_t in, std::int64_t out,
                       torch::ScalarType type) {
  const auto run = [=]() -> std::string {
    torch::manual_seed(1);
    torch::Tensor x = random_tensor({rows, in}, Layout::nchw, type);
    torch::Tensor w = random_tensor({out, in}, Layout::nchw, type);
    const torch::Tensor dy = random_tensor({rows, out}, Layout::nchw, type);
    const Numbers plain_x = numbers_of(x);
    const Numbers plain_w = numbers_of(w);
    const Numbers plain_dy = numbers_of(dy);
    const Numbers y = product(rows, out, in, plain_x, numbers_of(w.t()));
    const Numbers dx = product(rows, in, out, plain_dy, plain_w);
    const Numbers dw = product(out, in, rows, numbers_of(dy.t()), plain_x);
    x.requires_grad_();
    w.requires_grad_();
    const torch::Tensor result = train::linear(x, w, torch::Tensor());
    result.backward(dy);
    return compared("y", result, y, in) + compared("dx", x.grad(), dx, out) +
           compared("dw", w.grad(), dw, rows);
  };
  return {fmt::format("linear {} n{} {}->{}", type_name(type), rows, in, out), run};
}

KernelCase pool_case(const ConvolutionShape& s) {
  const auto run = [s]() -> std::string {
    torch::manual_seed(1);
    torch::Tensor x =
        random_tensor({s.batch, s.in, s.height, s.width}, Layout::nhwc, torch::kFloat);
    const torch::Tensor dy =
        random_tensor({s.batch, s.in, s.out_height(), s.out_width()}, Layout::nhwc, torch::kFloat);
    const Numbers from = numbers_of(x);
    const Numbers up = numbers_of(dy);
    Numbers y(up.size());
    Numbers dx(from.size(), 0);
    std::size_t at = 0;
    for (std::int64_t plane = 0; plane < s.batch * s.in; ++plane)
      for (std::int64_t i = 0; i < s.out_height(); ++i)
        for (std::int64_t j = 0; j < s.out_width(); ++j, ++at) {
          std::int64_t best = -1;
          for (std::int64_t row = i * s.stride - s.padding;
               row < i * s.stride - s.padding + s.kernel; ++row)
            for (std::int64_t column = j * s.stride - s.padding;
                 column < j * s.stride - s.padding + s.kernel; ++column) {
              if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
              const std::int64_t place = (plane * s.height + row) * s.width + column;
              if (best < 0 ||
                  from[static_cast<std::size_t>(place)] > from[static_cast<std::size_t>(best)])
                best = place;
            }
          y[at] = from[static_cast<std::size_t>(best)];
          dx[static_cast<std::size_t>(best)] += up[at];
        }
    x.requires_grad_();
    const torch::Tensor result = torch::max_pool2d(x, s.kernel, s.stride, s.padding);
    result.backward(dy);
    return compared("y", result, y, 1) + compared("dx", x.grad(), dx, s.kernel * s.kernel);
  };
  return {fmt::format("pool f32 nhwc n{} {} {}x{} k{} s{} p{}", s.batch, s.in, s.height, s.width,
                      s.kernel, s.stride, s.padding),
          run};
}

}  // namespace assay::testing
