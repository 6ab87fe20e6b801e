#include "train/models/cuda_dense.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>

#include "train/cuda/dense_kernels.h"
#include "train/cuda/layer_norm.h"
#include "train/cuda/tensors.h"

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor flat(const torch::Tensor& x) {
  return x.contiguous().view({-1, x.size(-1)});
}

cuda::Matrix tokens_of(const torch::Tensor& x) {
  return {x.size(0), x.size(1)};
}

// x · weightᵀ + bias, with the bias in the product's epilogue.
torch::Tensor product(const torch::Tensor& x, const torch::Tensor& weight,
                      const torch::Tensor& bias) {
  return at::addmm(bias.to(x.scalar_type()), x, weight.t());
}

// The gradient of a weight, in float; summed and kept in float if libtorch can.
torch::Tensor weight_gradient(const torch::Tensor& dy, const torch::Tensor& x) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8)
  if (x.scalar_type() != torch::kFloat) return at::mm(dy.t(), x, torch::kFloat);
#endif
  return at::mm(dy.t(), x).to(torch::kFloat);
}

cuda::Dropout draw(double rate, torch::Device device) {
  cuda::Dropout dropout;
  dropout.rate = static_cast<float>(rate);
  if (rate <= 0) return dropout;
  const at::Generator generator = at::globalContext().defaultGenerator(device);
  auto* const engine = at::check_generator<at::CUDAGeneratorImpl>(generator);
  const std::lock_guard<std::mutex> lock(engine->mutex_);
  const at::PhiloxCudaState state = engine->philox_cuda_state(cuda::kDropoutOffset);
  if (state.captured_) {
    dropout.seed_at = state.seed_.ptr;
    dropout.offset_at = state.offset_.ptr;
    dropout.offset = state.offset_intragraph_;
  } else {
    dropout.seed = state.seed_.val;
    dropout.offset = state.offset_.val;
  }
  return dropout;
}

// Room for the kept bits of this matrix's dropout; none without dropout.
torch::Tensor kept_bits(const torch::Tensor& matrix, float rate) {
  const std::int64_t packs = matrix.numel() / cuda::lanes(cuda::type_of(matrix));
  return torch::empty({rate > 0 ? packs : 0}, matrix.options().dtype(torch::kByte));
}

struct LinearHeads : torch::autograd::Function<LinearHeads> {
  static variable_list forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               std::int64_t heads) {
    const torch::Tensor rows = flat(x);
    const torch::Tensor rounded = weight.to(x.scalar_type());
    context->save_for_backward({rows, rounded});
    context->saved_data["batch"] = x.size(0);
    const std::int64_t width = weight.size(0) / 3 / heads;
    return product(rows, rounded, bias)
        .view({x.size(0), x.size(1), 3, heads, width})
        .permute({2, 0, 3, 1, 4})
        .unbind(0);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& rows = saved[0];
    const torch::Tensor& weight = saved[1];
    const cuda::Type type = cuda::type_of(rows);
    cuda::Heads heads;
    for (std::size_t i = 0; i < 3; ++i) {
      torch::Tensor& part = gradients[i];
      const auto aligned = [&](std::int64_t dimension) {
        return part.stride(dimension) % cuda::lanes(type) == 0;
      };
      if (part.stride(3) != 1 || !aligned(0) || !aligned(1) || !aligned(2))
        part = part.contiguous();
      heads.part[i] = part.data_ptr();
      heads.batch_stride[i] = part.stride(0);
      heads.head_stride[i] = part.stride(1);
      heads.position_stride[i] = part.stride(2);
    }
    heads.batch = gradients[0].size(0);
    heads.heads = gradients[0].size(1);
    heads.length = gradients[0].size(2);
    heads.width = gradients[0].size(3);
    torch::Tensor packed = torch::empty({rows.size(0), weight.size(0)}, rows.options());
    const torch::Tensor partial =
        cuda::floats(rows, {cuda::row_blocks(type, tokens_of(packed)), weight.size(0)});
    torch::Tensor dbias = cuda::floats(rows, {weight.size(0)});
    cuda::pack_heads(cuda::current_stream(), type, heads, packed.data_ptr(),
                     partial.data_ptr<float>(), dbias.data_ptr<float>());
    return {at::mm(packed, weight).view({heads.batch, heads.length, -1}),
            weight_gradient(packed, rows), dbias, torch::Tensor()};
  }
};

struct LinearGelu : torch::autograd::Function<LinearGelu> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias) {
    const torch::Tensor rows = flat(x);
    const torch::Tensor rounded = weight.to(x.scalar_type());
    const torch::Tensor before = product(rows, rounded, bias);
    torch::Tensor y = torch::empty_like(before);
    cuda::gelu_forward(cuda::current_stream(), cuda::type_of(x), y.numel(), before.data_ptr(),
                       y.data_ptr());
    context->save_for_backward({rows, rounded, before});
    std::vector<std::int64_t> shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return y.view(shape);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& rows = saved[0];
    const torch::Tensor& weight = saved[1];
    const torch::Tensor& before = saved[2];
    const torch::Tensor dy = flat(gradients[0]);
    const cuda::Type type = cuda::type_of(before);
    torch::Tensor dbefore = torch::empty_like(before);
    const torch::Tensor partial =
        cuda::floats(before, {cuda::row_blocks(type, tokens_of(before)), before.size(1)});
    torch::Tensor dbias = cuda::floats(before, {before.size(1)});
    cuda::gelu_backward(cuda::current_stream(), type, tokens_of(before), before.data_ptr(),
                        dy.data_ptr(), dbefore.data_ptr(), partial.data_ptr<float>(),
                        dbias.data_ptr<float>());
    std::vector<std::int64_t> shape = gradients[0].sizes().vec();
    shape.back() = weight.size(1);
    return {at::mm(dbefore, weight).view(shape), weight_gradient(dbefore, rows), dbias};
  }
};

struct LinearAddNorm : torch::autograd::Function<LinearAddNorm> {
  // Returns y twice, once per reader.
  static variable_list forward(AutogradContext* context, const torch::Tensor& h,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& skip, const torch::Tensor& norm_weight,
                               const torch::Tensor& norm_bias, double epsilon, double dropout) {
    const torch::Tensor rows = flat(h);
    const torch::Tensor rounded = weight.to(h.scalar_type());
    const torch::Tensor x = flat(skip);
    const cuda::Dropout drawn = draw(dropout, h.device());
    torch::Tensor sum = product(rows, rounded, bias);  // becomes the sum in place
    torch::Tensor y = torch::empty_like(sum);
    torch::Tensor statistics = cuda::floats(sum, {2, sum.size(0)});
    const torch::Tensor kept = kept_bits(sum, drawn.rate);
    cuda::add_norm_forward(
        cuda::current_stream(), cuda::type_of(sum), tokens_of(sum), x.data_ptr(), sum.data_ptr(),
        drawn, norm_weight.data_ptr<float>(), norm_bias.data_ptr<float>(),
        static_cast<float>(epsilon), sum.data_ptr(), y.data_ptr(), statistics.data_ptr<float>(),
        statistics.data_ptr<float>() + sum.size(0), kept.data_ptr<cuda::KeptBits>());
    context->set_materialize_grads(false);
    context->save_for_backward({rows, rounded, sum, statistics, norm_weight, kept});
    context->saved_data["rate"] = static_cast<double>(drawn.rate);
    context->saved_data["inner"] = h.size(-1);
    y = y.view(skip.sizes());
    return {y, y.detach()};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (!gradients[0].defined()) std::swap(gradients[0], gradients[1]);
    if (!gradients[0].defined()) return variable_list(8);
    const auto saved = context->get_saved_variables();
    const torch::Tensor& rows = saved[0];
    const torch::Tensor& weight = saved[1];
    const torch::Tensor& sum = saved[2];
    const torch::Tensor& statistics = saved[3];
    const torch::Tensor& norm_weight = saved[4];
    const torch::Tensor& kept = saved[5];
    const auto rate = static_cast<float>(context->saved_data["rate"].toDouble());

    const torch::Tensor dy = flat(gradients[0]);
    const torch::Tensor other = gradients[1].defined() ? flat(gradients[1]) : torch::Tensor();
    const cuda::Matrix matrix = tokens_of(sum);
    torch::Tensor dx = torch::empty_like(sum);
    torch::Tensor dh = torch::empty_like(sum);
    const torch::Tensor partial =
        cuda::floats(sum, {cuda::add_norm_blocks(matrix), 3, matrix.columns});
    torch::Tensor sums = cuda::floats(sum, {3, matrix.columns});
    float* const out = sums.data_ptr<float>();
    cuda::add_norm_backward(
        cuda::current_stream(), cuda::type_of(sum), matrix, dy.data_ptr(),
        other.defined() ? other.data_ptr() : nullptr, sum.data_ptr(), statistics.data_ptr<float>(),
        statistics.data_ptr<float>() + matrix.rows, kept.data_ptr<cuda::KeptBits>(), rate,
        norm_weight.data_ptr<float>(), dx.data_ptr(), dh.data_ptr(), partial.data_ptr<float>(), out,
        out + matrix.columns, out + 2 * matrix.columns);
    std::vector<std::int64_t> shape = gradients[0].sizes().vec();
    const torch::Tensor dskip = dx.view(shape);
    shape.back() = context->saved_data["inner"].toInt();
    return {at::mm(dh, weight).view(shape),
            weight_gradient(dh, rows),
            sums[2],
            dskip,
            sums[0],
            sums[1],
            torch::Tensor(),
            torch::Tensor()};
  }
};

}  // namespace

bool cuda_dense_fits(const torch::Tensor& x, std::int64_t head_width) {
  return cuda::fits(x) && x.size(-1) <= cuda::widest_row(cuda::type_of(x)) &&
         x.size(-1) % cuda::lanes(cuda::type_of(x)) == 0 &&
         head_width % cuda::lanes(cuda::type_of(x)) == 0;
}

std::vector<torch::Tensor> cuda_linear_heads(const torch::Tensor& x,
                                             const torch::nn::LinearImpl& layer,
                                             std::int64_t heads) {
  return LinearHeads::apply(x, layer.weight, layer.bias, heads);
}

torch::Tensor cuda_linear_gelu(const torch::Tensor& x, const torch::nn::LinearImpl& layer) {
  return LinearGelu::apply(x, layer.weight, layer.bias);
}

Fork cuda_linear_add_norm(const torch::Tensor& h, const torch::nn::LinearImpl& layer,
                          const torch::Tensor& skip, const torch::nn::LayerNormImpl& norm,
                          double dropout) {
  const variable_list both = LinearAddNorm::apply(h, layer.weight, layer.bias, skip, norm.weight,
                                                  norm.bias, norm.options.eps(), dropout);
  return {both[0], both[1]};
}

}  // namespace assay::train
