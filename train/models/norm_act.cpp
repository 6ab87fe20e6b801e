#include "train/models/norm_act.h"

#include <cmath>

#include "train/base/maybe_tensor.h"
#include "train/models/norm_context.h"
#include "train/models/norm_kernels.h"
#if defined(ASSAY_TRAIN_KERNELS)
#include "train/models/cuda_norm.h"
#endif

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct FusedNormAct : torch::autograd::Function<FusedNormAct> {
  // Returns y twice, once per reader.
  static variable_list forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const MaybeTensor& addend, torch::nn::BatchNorm2dImpl* norm,
                               bool relu) {
    const std::int64_t channels = x.size(1);
    const NormShape shape{x.numel() / channels, channels};
    const auto count = static_cast<std::size_t>(channels);
    std::vector<double> mean(count);
    std::vector<double> variance(count);
    norm_statistics(shape, x.data_ptr<float>(), mean.data(), variance.data());
    update_running(*norm, shape, mean, variance);

    torch::Tensor saved = torch::empty({4, channels}, weight.options());  // mean, 1/σ, scale, shift
    float* const m = saved.data_ptr<float>();
    float* const inverse = m + channels;
    float* const scale = inverse + channels;
    float* const shift = scale + channels;
    for (std::size_t c = 0; c < count; ++c) {
      m[c] = static_cast<float>(mean[c]);
      inverse[c] = static_cast<float>(1 / std::sqrt(variance[c] + norm->options.eps()));
      scale[c] = weight.data_ptr<float>()[c] * inverse[c];
      shift[c] = bias.data_ptr<float>()[c] - m[c] * scale[c];
    }
    torch::Tensor y = torch::empty_like(x);
    norm_forward(shape, x.data_ptr<float>(), addend ? addend->data_ptr<float>() : nullptr, scale,
                 shift, relu, y.data_ptr<float>());
    return keep_for_backward(context, {x, weight, saved, y, relu, addend.has_value()});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto [x, weight, saved, y, relu, has_addend] = kept_for_backward(context);
    const auto [dy, other] = gradients_of_readers(gradients);
    if (!dy.defined()) return variable_list(6);
    const std::int64_t channels = x.size(1);
    const NormShape shape{x.numel() / channels, channels};
    const float* const mean = saved.data_ptr<float>();
    const float* const inverse = mean + channels;
    NormGradient gradient;
    gradient.dy = dy.data_ptr<float>();
    gradient.other = other.defined() ? other.data_ptr<float>() : nullptr;
    if (y.defined()) {
      gradient.y = y.data_ptr<float>();
    } else if (relu) {
      gradient.scale = inverse + channels;
      gradient.shift = gradient.scale + channels;
    }
    // The addend receives the same gradient as the norm.
    const bool keep = other.defined() || y.defined();
    const torch::Tensor masked = keep ? torch::empty_like(dy) : dy;
    const auto count = static_cast<std::size_t>(channels);
    std::vector<double> sum(count);
    std::vector<double> product(count);
    norm_backward_sums(shape, x.data_ptr<float>(), gradient, mean, inverse,
                       keep ? masked.data_ptr<float>() : nullptr, sum.data(), product.data());
    torch::Tensor dweight = torch::empty_like(weight);
    torch::Tensor dbias = torch::empty_like(weight);
    std::vector<float> a(count);
    std::vector<float> b(count);
    std::vector<float> c(count);
    const auto rows = static_cast<double>(shape.rows);
    for (std::size_t i = 0; i < count; ++i) {
      dweight.data_ptr<float>()[i] = static_cast<float>(product[i]);
      dbias.data_ptr<float>()[i] = static_cast<float>(sum[i]);
      // dx = scale · (g - mean(g) - x̂ · mean(g · x̂)), sorted by g, x and 1.
      const double scale =
          static_cast<double>(weight.data_ptr<float>()[i]) * static_cast<double>(inverse[i]);
      const double slope = -scale * product[i] / rows * static_cast<double>(inverse[i]);
      a[i] = static_cast<float>(scale);
      b[i] = static_cast<float>(slope);
      c[i] = static_cast<float>(-scale * sum[i] / rows - slope * static_cast<double>(mean[i]));
    }
    if (keep) {
      gradient = {};
      gradient.dy = masked.data_ptr<float>();
    }
    torch::Tensor dx = torch::empty_like(x);
    norm_backward_input(shape, x.data_ptr<float>(), gradient, a.data(), b.data(), c.data(),
                        dx.data_ptr<float>());
    return {dx,
            dweight,
            dbias,
            has_addend ? masked : torch::Tensor(),
            torch::Tensor(),
            torch::Tensor()};
  }

  static void update_running(torch::nn::BatchNorm2dImpl& norm, const NormShape& shape,
                             const std::vector<double>& mean, const std::vector<double>& variance) {
    const double momentum = norm.options.momentum().value();
    const auto rows = static_cast<double>(shape.rows);
    const double unbiased = rows > 1 ? rows / (rows - 1) : 1;
    float* const running_mean = norm.running_mean.data_ptr<float>();
    float* const running_var = norm.running_var.data_ptr<float>();
    const auto move = [&](float& value, double to) {
      value = static_cast<float>((1 - momentum) * static_cast<double>(value) + momentum * to);
    };
    for (std::size_t c = 0; c < mean.size(); ++c) {
      move(running_mean[c], mean[c]);
      move(running_var[c], variance[c] * unbiased);
    }
  }
};

bool is_fusable(const torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                const torch::Tensor& addend) {
  const auto fits = [](const torch::Tensor& t) {
    return t.device().is_cpu() && t.scalar_type() == torch::kFloat &&
           t.is_contiguous(torch::MemoryFormat::ChannelsLast);
  };
  return norm.is_training() && x.dim() == 4 && fits(x) &&
         norm.weight.scalar_type() == torch::kFloat && (!addend.defined() || fits(addend));
}

}  // namespace

torch::Tensor norm_act(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                       const torch::Tensor& addend, bool relu) {
  return norm_act_fork(norm, x, addend, relu).main;
}

Fork norm_act_fork(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                   const torch::Tensor& addend, bool relu) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (cuda_norm_fits(norm, x)) return cuda_norm_act(norm, x, addend, relu);
#endif
  if (is_fusable(norm, x, addend)) {
    const variable_list both =
        FusedNormAct::apply(x, norm.weight, norm.bias,
                            addend.defined() ? MaybeTensor(addend) : MaybeTensor(), &norm, relu);
    return {both[0], both[1]};
  }
  torch::Tensor y = torch::batch_norm(x, norm.weight, norm.bias, norm.running_mean,
                                      norm.running_var, norm.is_training(),
                                      norm.options.momentum().value(), norm.options.eps(), true);
  if (addend.defined()) y = y.add_(addend);
  return Fork(relu ? y.relu_() : y);
}

torch::Tensor norm_act_pool(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (cuda_norm_fits(norm, x)) return cuda_norm_pool(norm, x);
#endif
  return torch::max_pool2d(norm_act(norm, x), 3, 2, 1);
}

}  // namespace assay::train
