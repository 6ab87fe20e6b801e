#include "train/models/llama_ops.h"

#include <algorithm>
#include <cmath>

#include "train/base/maybe_tensor.h"
#include "train/models/causal_attention.h"
#include "train/models/dense.h"
#if defined(ASSAY_TRAIN_KERNELS)
#include "train/models/cuda_fp8.h"
#include "train/models/cuda_gemm.h"
#include "train/models/cuda_llama.h"
#endif

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor rows_of(const torch::Tensor& x) {
  return x.contiguous().view({-1, x.size(-1)});
}

std::vector<std::int64_t> with_last(const torch::Tensor& x, std::int64_t last) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = last;
  return shape;
}

bool has_sgemm(const torch::Tensor& x) {
  return has_fast_gemm() && x.device().is_cpu() && x.scalar_type() == torch::kFloat &&
         x.numel() > 0;
}

struct Project : torch::autograd::Function<Project> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& rounded,
                               bool overwrite) {
    const torch::Tensor rows = rows_of(x);
    context->save_for_backward({rows, weight, rounded});
    context->saved_data["overwrite"] = overwrite;
    return matrix_product(rows, rounded).view(with_last(x, weight.size(0)));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor dy = rows_of(gradients[0]);
    add_weight_gradient(saved[1], dy, saved[0], context->saved_data["overwrite"].toBool());
    torch::Tensor dx;
    if (context->needs_input_grad(0))
      dx = input_gradient(dy, saved[2]).view(with_last(gradients[0], saved[2].size(1)));
    return {dx, torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

struct EmbedTokens : torch::autograd::Function<EmbedTokens> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& tokens,
                               const torch::Tensor& weight, const torch::Tensor& rounded) {
    context->save_for_backward({tokens, weight});
    return rounded.index_select(0, tokens.flatten())
        .view({tokens.size(0), tokens.size(1), weight.size(1)});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    torch::NoGradGuard no_grad;
    const auto saved = context->get_saved_variables();
    torch::Tensor weight = saved[1];
    const torch::Tensor dy = rows_of(gradients[0]).to(torch::kFloat);
    const torch::Tensor tokens = saved[0].flatten();
    torch::Tensor gradient = gradient_of(weight);
    // Adding row by row is slow on the CPU, and a second matrix is large on a device.
    if (dy.device().is_cpu())
      gradient.add_(at::embedding_dense_backward(dy, tokens, weight.size(0), -1, false));
    else
      gradient.index_add_(0, tokens, dy);
    return {torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

torch::Tensor normed(const torch::Tensor& x, const torch::Tensor& weight, double epsilon) {
  const torch::Tensor wide = x.to(torch::kFloat);
  const torch::Tensor inverse = (wide.square().mean(-1, true) + epsilon).rsqrt();
  return (wide * inverse * weight).to(x.scalar_type());
}

// The keys visible to each query: bool [B or 1, 1, S, S].
torch::Tensor visible(std::int64_t length, const torch::Tensor& from, torch::Device device) {
  const torch::Tensor at =
      torch::arange(length, torch::TensorOptions(torch::kInt).device(device)).view({1, 1, 1, -1});
  torch::Tensor seen = at <= at.view({1, 1, -1, 1});
  if (from.defined()) seen = seen.logical_and(at >= from.unsqueeze(1).unsqueeze(3));
  return seen;
}

}  // namespace

torch::Tensor gradient_of(torch::Tensor weight) {
  if (!weight.grad().defined()) weight.mutable_grad() = torch::zeros_like(weight);
  return weight.grad();
}

void time_products([[maybe_unused]] bool wanted) noexcept {
#if defined(ASSAY_TRAIN_KERNELS)
  time_gemm_algorithms(wanted);
#endif
}

torch::Tensor matrix_product(const torch::Tensor& x, const torch::Tensor& weight) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (has_gemm(x, weight)) {
    torch::Tensor y = torch::empty({x.size(0), weight.size(0)}, x.options());
    gemm(Transposed::second, x, weight, y);
    return y;
  }
#endif
  if (!has_sgemm(x) || !weight.is_contiguous()) return at::mm(x, weight.t());
  torch::Tensor y = torch::empty({x.size(0), weight.size(0)}, x.options());
  fast_gemm(false, true, x.size(0), weight.size(0), x.size(1), 1, x.data_ptr<float>(), x.size(1),
            weight.data_ptr<float>(), weight.size(1), 0, y.data_ptr<float>(), weight.size(0));
  return y;
}

void add_weight_gradient(torch::Tensor weight, const torch::Tensor& dy, const torch::Tensor& x,
                         bool overwrite) {
  torch::NoGradGuard no_grad;
  torch::Tensor gradient = gradient_of(weight);
#if defined(ASSAY_TRAIN_KERNELS)
  if (overwrite && has_gemm(dy, x) && gradient.is_contiguous())
    return gemm(Transposed::first, dy, x, gradient);
#endif
  if (has_sgemm(x) && dy.is_contiguous() && x.is_contiguous() && gradient.is_contiguous())
    return fast_gemm(true, false, dy.size(1), x.size(1), x.size(0), 1, dy.data_ptr<float>(),
                     dy.size(1), x.data_ptr<float>(), x.size(1), overwrite ? 0.0F : 1.0F,
                     gradient.data_ptr<float>(), x.size(1));
  if (x.scalar_type() == gradient.scalar_type()) {
    gradient.addmm_(dy.t(), x, overwrite ? 0 : 1);
    return;
  }
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8)
  if (x.is_cuda()) {
    // Summed and stored in float.
    if (overwrite)
      at::mm_out(gradient, dy.t(), x, torch::kFloat);
    else
      gradient.add_(at::mm(dy.t(), x, torch::kFloat));
    return;
  }
#endif
  if (overwrite) gradient.zero_();
  gradient.add_(at::mm(dy.t(), x));
}

torch::Tensor input_gradient(const torch::Tensor& dy, const torch::Tensor& weight) {
  torch::NoGradGuard no_grad;
#if defined(ASSAY_TRAIN_KERNELS)
  if (has_gemm(dy, weight)) {
    torch::Tensor dx = torch::empty({dy.size(0), weight.size(1)}, dy.options());
    gemm(Transposed::none, dy, weight, dx);
    return dx;
  }
#endif
  if (!has_sgemm(dy) || !dy.is_contiguous() || !weight.is_contiguous()) return at::mm(dy, weight);
  torch::Tensor dx = torch::empty({dy.size(0), weight.size(1)}, dy.options());
  fast_gemm(false, false, dy.size(0), weight.size(1), dy.size(1), 1, dy.data_ptr<float>(),
            dy.size(1), weight.data_ptr<float>(), weight.size(1), 0, dx.data_ptr<float>(),
            weight.size(1));
  return dx;
}

torch::Tensor project(const torch::Tensor& x, const Weight& weight) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (weight.fp8 && Fp8Product::fits(x, weight.value)) return cuda_fp8_project(x, weight);
#endif
  return Project::apply(x, weight.value, weight.as(x.scalar_type()).detach(), weight.overwrite);
}

torch::Tensor embed_tokens(const torch::Tensor& tokens, const Weight& weight,
                           torch::ScalarType type) {
  return EmbedTokens::apply(tokens, weight.value, weight.as(type).detach());
}

Normed add_norm(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& weight,
                double epsilon) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (cuda_rms_norm_fits(x)) return cuda_add_norm(x, h, weight, epsilon);
#endif
  const torch::Tensor sum = h.defined() ? x + h : x;
  return {sum, normed(sum, weight, epsilon), weight, epsilon};
}

torch::Tensor rotate(const torch::Tensor& x, const Sequences& sequences) {
  const std::int64_t half = x.size(-1) / 2;
  const torch::Tensor cosine = sequences.cosine.unsqueeze(1);
  const torch::Tensor sine = sequences.sine.unsqueeze(1);
  const torch::Tensor a = x.narrow(-1, 0, half).to(torch::kFloat);
  const torch::Tensor b = x.narrow(-1, half, half).to(torch::kFloat);
  return torch::cat({a * cosine - b * sine, b * cosine + a * sine}, -1).to(x.scalar_type());
}

torch::Tensor causal_attention(const LlamaHeads& heads, const torch::Tensor& from) {
  if (has_sgemm(heads.q)) return cpu_causal_attention(heads.q, heads.k, heads.v, from);
  const std::int64_t length = heads.q.size(1);
  const torch::Tensor q = heads.q.transpose(1, 2);
  torch::Tensor k = heads.k.transpose(1, 2);
  torch::Tensor v = heads.v.transpose(1, 2);
  torch::Tensor out;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  MaybeTensor mask;
  if (from.defined()) mask = visible(length, from, q.device());
  out = at::scaled_dot_product_attention(q, k, v, mask, 0.0, !from.defined(), std::nullopt,
                                         q.size(1) != k.size(1));
#else
  const std::int64_t group = q.size(1) / k.size(1);
  k = k.repeat_interleave(group, 1);
  v = v.repeat_interleave(group, 1);
  torch::Tensor scores =
      torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(3)));
  scores = scores.masked_fill(visible(length, from, q.device()).logical_not(), -INFINITY);
  out = torch::matmul(torch::softmax(scores, -1), v);
#endif
  return out.transpose(1, 2).reshape({q.size(0), length, q.size(1) * q.size(3)});
}

torch::Tensor swiglu(const torch::Tensor& gate_up) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (cuda_llama_fits(gate_up)) return cuda_swiglu(gate_up);
#endif
  const std::int64_t inner = gate_up.size(-1) / 2;
  return torch::silu(gate_up.narrow(-1, 0, inner)) * gate_up.narrow(-1, inner, inner);
}

torch::Tensor feed_forward(const Normed& in, const Weight& gate_up, const Weight& down,
                           [[maybe_unused]] Keep keep) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (cuda_rms_norm_fits(in.sum) && gate_up.value.size(0) % 32 == 0)
    return cuda_feed_forward(in, gate_up, down, keep);
#endif
  return project(swiglu(project(in.y, gate_up)), down);
}

TokenLosses head_losses(const torch::Tensor& y, const Weight& weight, const torch::Tensor& labels,
                        HeadGradient* gradient, bool count_right) {
  torch::NoGradGuard no_grad;
  // A product with fewer rows is slower; a device has room for larger parts, and each part reads
  // and writes the matrix's gradient again.
  const std::int64_t most = y.is_cuda() ? std::int64_t{1} << 32 : std::int64_t{1} << 22;  // logits
  const std::int64_t count = y.size(0);
  // In a transposed part, rows are long runs of whole cache lines.
  constexpr std::int64_t kWhole = 1024;
  const std::int64_t fit = std::max<std::int64_t>(64, most / weight.value.size(0));
  const std::int64_t rows = fit >= kWhole ? fit / kWhole * kWhole : fit;
  const torch::Tensor matrix = weight.as(y.scalar_type());
  TokenLosses out;
  out.sum = torch::zeros({}, y.options().dtype(torch::kFloat));
  if (count_right) out.right = torch::zeros({}, labels.options());
  if (gradient != nullptr) gradient->dy = torch::empty_like(y);
  const double share = gradient == nullptr ? 0 : gradient->factor / static_cast<double>(count);
  for (std::int64_t begin = 0; begin < count; begin += rows) {
    const std::int64_t size = std::min(rows, count - begin);
    const torch::Tensor part = y.narrow(0, begin, size);
    const torch::Tensor wanted = labels.narrow(0, begin, size);
#if defined(ASSAY_TRAIN_KERNELS)
    const bool fp8 = weight.fp8 && Fp8Product::fits(part, weight.value);
    const Fp8Operand part8 =
        fp8 ? weight.fp8->round_input(part, {true, gradient != nullptr}) : Fp8Operand();
    torch::Tensor logits =
        fp8 ? weight.fp8->forward(part8.rows, matrix) : matrix_product(part, matrix);
#else
    torch::Tensor logits = matrix_product(part, matrix);
#endif
    if (count_right) out.right += (logits.argmax(1) == wanted).sum();
    torch::Tensor dlogits;
#if defined(ASSAY_TRAIN_KERNELS)
    if (cuda_llama_fits(logits)) {
      out.sum += cuda_cross_entropy_in_place(logits, wanted, gradient != nullptr, share).sum();
      dlogits = logits;
    } else
#endif
    {
      logits = logits.to(torch::kFloat);
      const torch::Tensor log_sums = logits.logsumexp(1, true);
      const torch::Tensor column = wanted.unsqueeze(1);
      out.sum += (log_sums - logits.gather(1, column)).sum();
      if (gradient != nullptr) {
        dlogits = logits.sub_(log_sums).exp_();
        dlogits.scatter_add_(1, column, torch::full({size, 1}, -1.0, dlogits.options()));
        dlogits = dlogits.mul_(share).to(y.scalar_type());
      }
    }
    if (gradient == nullptr) continue;
#if defined(ASSAY_TRAIN_KERNELS)
    if (fp8) {
      const Fp8Operand dlogits8 = weight.fp8->round_gradient(dlogits);
      gradient->dy.narrow(0, begin, size).copy_(weight.fp8->input_gradient(dlogits8, matrix));
      weight.fp8->add_weight_gradient(gradient_of(weight.value), dlogits8, part8.columns,
                                      weight.overwrite && begin == 0);
      continue;
    }
#endif
    gradient->dy.narrow(0, begin, size).copy_(input_gradient(dlogits, matrix));
    add_weight_gradient(weight.value, dlogits, part, weight.overwrite && begin == 0);
  }
  return out;
}

}  // namespace assay::train
