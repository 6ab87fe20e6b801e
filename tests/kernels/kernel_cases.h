#pragma once

// Calls of the kernels that training uses, each with numbers that were computed by plain loops.
#include <functional>
#include <string>
#include <vector>

#include "kernels/plain_math.h"
#include "train/base/torch.h"

namespace assay::testing {

struct KernelCase {
  std::string name;                  ///< "conv f32 nhwc n2 4->8 5x5 k1 s2 p0"
  std::function<std::string()> run;  ///< what is wrong with the numbers; empty: nothing
};

/// Of x, weight and bias.
using Convolve = std::function<torch::Tensor(const torch::Tensor&, const torch::Tensor&,
                                             const torch::Tensor&, const ConvolutionShape&)>;

/// That of train/models, which has neither dilation nor groups.
[[nodiscard]] torch::Tensor train_convolution(const torch::Tensor& x, const torch::Tensor& weight,
                                              const torch::Tensor& bias,
                                              const ConvolutionShape& shape);

enum class Layout { nchw, nhwc };

[[nodiscard]] KernelCase convolution_case(const ConvolutionShape& shape, Layout layout,
                                          torch::ScalarType type, const Convolve& convolve);
/// train's linear(), of `rows` rows, forward and backward.
[[nodiscard]] KernelCase linear_case(std::int64_t rows, std::int64_t in, std::int64_t out,
                                     torch::ScalarType type);
/// Maximum over windows, as channels-last.
[[nodiscard]] KernelCase pool_case(const ConvolutionShape& shape);

}  // namespace assay::testing
