#include "train/models/dense.h"

#include <cmath>

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "core/error.h"
#include "train/base/maybe_tensor.h"

namespace assay::train {
namespace {

// oneDNN's C interface. Declared here because distributions ship the library with libtorch but its
// headers separately; libtorch builds that hide it (PyTorch's own, which have MKL) simply lack the
// symbol.
using Sgemm = int (*)(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k,
                      float alpha, const float* a, std::int64_t lda, const float* b,
                      std::int64_t ldb, float beta, float* c, std::int64_t ldc);

Sgemm find_sgemm() noexcept {
  return reinterpret_cast<Sgemm>(::dlsym(RTLD_DEFAULT, "dnnl_sgemm"));
}

Sgemm sgemm() noexcept {
  static const Sgemm function = find_sgemm();
  return function;
}

bool is_fast(const torch::Tensor& x) {
  return has_fast_gemm() && x.device().is_cpu() && x.scalar_type() == torch::kFloat &&
         !autocast_enabled(torch::kCPU);
}

// An autograd function accepts an undefined tensor only as an empty optional.
MaybeTensor maybe(const torch::Tensor& tensor) {
  return tensor.defined() ? MaybeTensor(tensor) : MaybeTensor();
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct FastLinear : torch::autograd::Function<FastLinear> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const MaybeTensor& bias) {
    const torch::Tensor rows = x.contiguous();
    const std::int64_t in = weight.size(1);
    const std::int64_t out = weight.size(0);
    const std::int64_t count = rows.numel() / in;
    std::vector<std::int64_t> shape = x.sizes().vec();
    shape.back() = out;
    torch::Tensor y;
    if (bias)
      y = bias->expand(shape).contiguous();
    else
      y = torch::empty(shape, x.options());
    fast_gemm(false, true, count, out, in, 1, rows.data_ptr<float>(), in, weight.data_ptr<float>(),
              in, bias ? 1.0F : 0.0F, y.data_ptr<float>(), out);
    context->save_for_backward({rows, weight});
    context->saved_data["bias"] = bias.has_value();
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& x = saved[0];
    const torch::Tensor& weight = saved[1];
    const torch::Tensor dy = gradients[0].contiguous();
    const std::int64_t in = weight.size(1);
    const std::int64_t out = weight.size(0);
    const std::int64_t count = x.numel() / in;
    torch::Tensor dx;
    torch::Tensor dw;
    torch::Tensor db;
    if (context->needs_input_grad(0)) {
      dx = torch::empty_like(x);
      fast_gemm(false, false, count, in, out, 1, dy.data_ptr<float>(), out,
                weight.data_ptr<float>(), in, 0, dx.data_ptr<float>(), in);
    }
    if (context->needs_input_grad(1)) {
      dw = torch::empty_like(weight);
      fast_gemm(true, false, out, in, count, 1, dy.data_ptr<float>(), out, x.data_ptr<float>(), in,
                0, dw.data_ptr<float>(), in);
    }
    if (context->saved_data["bias"].toBool()) db = dy.reshape({count, out}).sum(0);
    return {dx, dw, db};
  }
};

// The parts of a packed qkv tensor, with loops over batch and heads.
struct Packed {
  std::int64_t batch;
  std::int64_t length;
  std::int64_t heads;
  std::int64_t width;   // of a single head
  std::int64_t stride;  // floats between neighboring positions in qkv

  explicit Packed(const torch::Tensor& qkv)
      : batch(qkv.size(0)),
        length(qkv.size(1)),
        heads(qkv.size(3)),
        width(qkv.size(4)),
        stride(3 * heads * width) {}

  // Offset of head `head` of part 0 (q), 1 (k) or 2 (v) of batch item `item`.
  [[nodiscard]] std::int64_t offset(std::int64_t item, std::int64_t part, std::int64_t head) const {
    return item * length * stride + (part * heads + head) * width;
  }
  [[nodiscard]] std::int64_t out_stride() const { return heads * width; }

  template <typename F>
  void each(const F& f) const {
    at::parallel_for(0, batch * heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) f(i / heads, i % heads, i * length * length);
    });
  }
};

struct FastAttention : torch::autograd::Function<FastAttention> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& qkv,
                               const MaybeTensor& mask, double dropout) {
    const Packed p(qkv);
    const float scale = 1.0F / std::sqrt(static_cast<float>(p.width));
    torch::Tensor scores = torch::empty({p.batch, p.heads, p.length, p.length}, qkv.options());
    const float* const in = qkv.data_ptr<float>();
    p.each(
        [&, to = scores.data_ptr<float>()](std::int64_t item, std::int64_t head, std::int64_t at) {
          fast_gemm(false, true, p.length, p.length, p.width, scale, in + p.offset(item, 0, head),
                    p.stride, in + p.offset(item, 1, head), p.stride, 0, to + at, p.length);
        });
    if (mask) scores.add_(*mask);
    const torch::Tensor probabilities = torch::softmax(scores, -1);
    torch::Tensor keep;
    torch::Tensor dropped = probabilities;
    if (dropout > 0) {
      keep = torch::empty_like(probabilities).bernoulli_(1 - dropout).div_(1 - dropout);
      dropped = probabilities * keep;
    }
    torch::Tensor out = torch::empty({p.batch, p.length, p.heads * p.width}, qkv.options());
    p.each([&, from = dropped.data_ptr<float>(), to = out.data_ptr<float>()](
               std::int64_t item, std::int64_t head, std::int64_t at) {
      fast_gemm(false, false, p.length, p.width, p.length, 1, from + at, p.length,
                in + p.offset(item, 2, head), p.stride, 0,
                to + item * p.length * p.out_stride() + head * p.width, p.out_stride());
    });
    context->save_for_backward({qkv, probabilities, keep});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& qkv = saved[0];
    const torch::Tensor& probabilities = saved[1];
    const torch::Tensor& keep = saved[2];
    const Packed p(qkv);
    const float scale = 1.0F / std::sqrt(static_cast<float>(p.width));
    const torch::Tensor dout = gradients[0].contiguous();
    const torch::Tensor dropped = keep.defined() ? probabilities * keep : probabilities;
    torch::Tensor dqkv = torch::empty_like(qkv);
    torch::Tensor dscores = torch::empty_like(probabilities);
    const float* const in = qkv.data_ptr<float>();
    const float* const up = dout.data_ptr<float>();
    float* const down = dqkv.data_ptr<float>();
    p.each([&, prob = dropped.data_ptr<float>(), to = dscores.data_ptr<float>()](
               std::int64_t item, std::int64_t head, std::int64_t at) {
      const float* const dy = up + item * p.length * p.out_stride() + head * p.width;
      fast_gemm(true, false, p.length, p.width, p.length, 1, prob + at, p.length, dy,
                p.out_stride(), 0, down + p.offset(item, 2, head), p.stride);
      fast_gemm(false, true, p.length, p.length, p.width, 1, dy, p.out_stride(),
                in + p.offset(item, 2, head), p.stride, 0, to + at, p.length);
    });
    if (keep.defined()) dscores.mul_(keep);
    dscores = at::_softmax_backward_data(dscores, probabilities, -1, torch::kFloat);
    p.each([&, from = dscores.data_ptr<float>()](std::int64_t item, std::int64_t head,
                                                 std::int64_t at) {
      fast_gemm(false, false, p.length, p.width, p.length, scale, from + at, p.length,
                in + p.offset(item, 1, head), p.stride, 0, down + p.offset(item, 0, head),
                p.stride);
      fast_gemm(true, false, p.length, p.width, p.length, scale, from + at, p.length,
                in + p.offset(item, 0, head), p.stride, 0, down + p.offset(item, 1, head),
                p.stride);
    });
    return {dqkv, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

bool has_fast_gemm() noexcept {
  return sgemm() != nullptr;
}

void fast_gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
               float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
               float beta, float* c, std::int64_t ldc) {
  const int status = sgemm()(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, alpha, a,
                             lda, b, ldb, beta, c, ldc);
  if (status != 0)
    throw Error(ErrorKind::internal, "dnnl_sgemm failed with status " + std::to_string(status));
}

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight,
                     const torch::Tensor& bias) {
  if (!is_fast(x) || weight.scalar_type() != torch::kFloat || !weight.is_contiguous() ||
      x.numel() == 0)
    return torch::linear(x, weight, bias);
  return FastLinear::apply(x, weight, maybe(bias));
}

torch::Tensor attention(const std::vector<torch::Tensor>& parts, const torch::Tensor& mask,
                        double dropout) {
  const torch::Tensor& q = parts[0];
  torch::Tensor out;
#if TORCH_VERSION_MAJOR >= 2
  MaybeTensor bias;
  if (mask.defined()) bias = mask.to(q.scalar_type()).expand({-1, q.size(1), q.size(2), -1});
  out = at::scaled_dot_product_attention(q, parts[1], parts[2], bias, dropout);
#else
  torch::Tensor scores =
      torch::matmul(q, parts[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(3)));
  if (mask.defined()) scores = scores + mask;
  torch::Tensor probabilities = torch::softmax(scores, -1);
  if (dropout > 0) probabilities = torch::dropout(probabilities, dropout, true);
  out = torch::matmul(probabilities, parts[2]);
#endif
  return out.transpose(1, 2).reshape({q.size(0), q.size(2), q.size(1) * q.size(3)});
}

torch::Tensor attention(const torch::Tensor& qkv, const torch::Tensor& mask, double dropout) {
  if (is_fast(qkv)) return FastAttention::apply(qkv.contiguous(), maybe(mask), dropout);
  return attention(qkv.permute({2, 0, 3, 1, 4}).unbind(0), mask, dropout);
}

}  // namespace assay::train
