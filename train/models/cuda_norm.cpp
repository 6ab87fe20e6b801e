#include "train/models/cuda_norm.h"

#include "train/base/maybe_tensor.h"
#include "train/cuda/batch_norm.h"
#include "train/cuda/tensors.h"
#include "train/models/norm_context.h"

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

cuda::Matrix positions_of(const torch::Tensor& x) {
  return {x.numel() / x.size(1), x.size(1)};
}

cuda::PoolShape pool_shape(const torch::Tensor& x) {
  return {x.size(0), x.size(2), x.size(3), x.size(1)};
}

// state is [4, channels].
cuda::NormState state_of(const torch::Tensor& state) {
  float* const at = state.data_ptr<float>();
  const std::int64_t channels = state.size(1);
  return {at, at + channels, at + 2 * channels, at + 3 * channels};
}

torch::Tensor statistics(const torch::Tensor& x, torch::nn::BatchNorm2dImpl& norm) {
  const cuda::Type type = cuda::type_of(x);
  const cuda::Matrix matrix = positions_of(x);
  torch::Tensor state = cuda::floats(x, {4, matrix.columns});
  const torch::Tensor partial =
      cuda::floats(x, {cuda::row_blocks(type, matrix), 2, matrix.columns});
  cuda::NormParameters parameters;
  parameters.weight = norm.weight.data_ptr<float>();
  parameters.bias = norm.bias.data_ptr<float>();
  parameters.running_mean = norm.running_mean.data_ptr<float>();
  parameters.running_variance = norm.running_var.data_ptr<float>();
  parameters.momentum = static_cast<float>(norm.options.momentum().value());
  parameters.epsilon = static_cast<float>(norm.options.eps());
  cuda::norm_statistics(cuda::current_stream(), type, matrix, x.data_ptr(),
                        partial.data_ptr<float>(), parameters, state_of(state));
  return state;
}

// The sums over rows for backward.
struct Sums {
  torch::Tensor partial;
  torch::Tensor dweight;
  torch::Tensor dbias;
  torch::Tensor coefficients;

  explicit Sums(const torch::Tensor& x) {
    const cuda::Matrix matrix = positions_of(x);
    partial = cuda::floats(x, {cuda::row_blocks(cuda::type_of(x), matrix), 2, matrix.columns});
    dweight = cuda::floats(x, {matrix.columns});
    dbias = cuda::floats(x, {matrix.columns});
    coefficients = cuda::floats(x, {3, matrix.columns});
  }
};

struct NormAct : torch::autograd::Function<NormAct> {
  // Returns y twice, once per reader.
  static variable_list forward(AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor& weight, const torch::Tensor& /*bias*/,
                               const MaybeTensor& addend, torch::nn::BatchNorm2dImpl* norm,
                               bool relu) {
    const torch::Tensor x = channels_last(input);
    const torch::Tensor more =
        addend ? channels_last(addend->to(x.scalar_type())) : torch::Tensor();
    const torch::Tensor state = statistics(x, *norm);
    torch::Tensor y = torch::empty_like(x);
    cuda::norm_forward(cuda::current_stream(), cuda::type_of(x), positions_of(x), x.data_ptr(),
                       addend ? more.data_ptr() : nullptr, state_of(state), relu, y.data_ptr());
    return keep_for_backward(context, {x, weight, state, y, relu, addend.has_value()});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto [x, weight, state, y, relu, has_addend] = kept_for_backward(context);
    const auto [dy, other] = gradients_of_readers(gradients);
    if (!dy.defined()) return variable_list(6);

    const bool keep = has_addend && (relu || other.defined());
    const torch::Tensor masked = keep ? torch::empty_like(x) : dy;
    cuda::NormGradient gradient;
    gradient.dy = dy.data_ptr();
    gradient.other = other.defined() ? other.data_ptr() : nullptr;
    gradient.y = y.defined() ? y.data_ptr() : nullptr;
    gradient.relu = relu;
    const cuda::Type type = cuda::type_of(x);
    const cuda::Matrix matrix = positions_of(x);
    const Sums sums(x);
    cuda::norm_backward_sums(cuda::current_stream(), type, matrix, x.data_ptr(), gradient,
                             state_of(state), weight.data_ptr<float>(),
                             keep ? masked.data_ptr() : nullptr, sums.partial.data_ptr<float>(),
                             sums.dweight.data_ptr<float>(), sums.dbias.data_ptr<float>(),
                             sums.coefficients.data_ptr<float>());
    if (keep) gradient = {masked.data_ptr(), nullptr, nullptr, false};
    torch::Tensor dx = torch::empty_like(x);
    cuda::norm_backward(cuda::current_stream(), type, matrix, x.data_ptr(), gradient,
                        state_of(state), sums.coefficients.data_ptr<float>(), dx.data_ptr());
    return {dx,
            sums.dweight,
            sums.dbias,
            has_addend ? masked : torch::Tensor(),
            torch::Tensor(),
            torch::Tensor()};
  }
};

struct NormPool : torch::autograd::Function<NormPool> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor& weight, const torch::Tensor& /*bias*/,
                               torch::nn::BatchNorm2dImpl* norm) {
    const torch::Tensor x = channels_last(input);
    const torch::Tensor state = statistics(x, *norm);
    const cuda::PoolShape shape = pool_shape(x);
    torch::Tensor y =
        torch::empty({shape.images, shape.channels, shape.pooled_height(), shape.pooled_width()},
                     x.options(), torch::MemoryFormat::ChannelsLast);
    torch::Tensor winner = torch::empty({y.numel()}, x.options().dtype(torch::kByte));
    cuda::norm_pool_forward(cuda::current_stream(), cuda::type_of(x), shape, x.data_ptr(),
                            state_of(state), y.data_ptr(), winner.data_ptr<std::uint8_t>());
    context->save_for_backward({x, weight, state, winner});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto kept = context->get_saved_variables();
    const torch::Tensor& x = kept[0];
    const torch::Tensor& weight = kept[1];
    const torch::Tensor& state = kept[2];
    const torch::Tensor& winner = kept[3];
    const torch::Tensor dy = channels_last(gradients[0]);
    const cuda::Type type = cuda::type_of(x);
    const cuda::PoolShape shape = pool_shape(x);
    const Sums sums(x);
    cuda::norm_pool_backward_sums(cuda::current_stream(), type, shape, x.data_ptr(), dy.data_ptr(),
                                  winner.data_ptr<std::uint8_t>(), state_of(state),
                                  weight.data_ptr<float>(), sums.partial.data_ptr<float>(),
                                  sums.dweight.data_ptr<float>(), sums.dbias.data_ptr<float>(),
                                  sums.coefficients.data_ptr<float>());
    torch::Tensor dx = torch::empty_like(x);
    cuda::norm_pool_backward(cuda::current_stream(), type, shape, x.data_ptr(), dy.data_ptr(),
                             winner.data_ptr<std::uint8_t>(), state_of(state),
                             sums.coefficients.data_ptr<float>(), dx.data_ptr());
    return {dx, sums.dweight, sums.dbias, torch::Tensor()};
  }
};

}  // namespace

bool cuda_norm_fits(const torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x) {
  return norm.is_training() && x.dim() == 4 && cuda::fits(x) &&
         x.size(1) % cuda::lanes(cuda::type_of(x)) == 0 &&
         norm.weight.scalar_type() == torch::kFloat;
}

Fork cuda_norm_act(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                   const torch::Tensor& addend, bool relu) {
  const variable_list both =
      NormAct::apply(x, norm.weight, norm.bias,
                     addend.defined() ? MaybeTensor(addend) : MaybeTensor(), &norm, relu);
  return {both[0], both[1]};
}

torch::Tensor cuda_norm_pool(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x) {
  return NormPool::apply(x, norm.weight, norm.bias, &norm);
}

}  // namespace assay::train
