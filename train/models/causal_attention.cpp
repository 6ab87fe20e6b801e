#include "train/models/causal_attention.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>

#include "core/clones.h"
#include "train/base/maybe_tensor.h"
#include "train/models/dense.h"

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Softmax of row[begin…end), 0 elsewhere.
ASSAY_CLONES void softmax_row(float* row, std::int64_t begin, std::int64_t end,
                              std::int64_t length) {
  float most = row[begin];
  for (std::int64_t j = begin; j < end; ++j) most = std::max(most, row[j]);
  float sum = 0;
  for (std::int64_t j = begin; j < end; ++j) {
    row[j] = std::exp(row[j] - most);
    sum += row[j];
  }
  const float factor = 1 / sum;
  for (std::int64_t j = begin; j < end; ++j) row[j] *= factor;
  std::fill(row, row + begin, 0.0F);
  std::fill(row + end, row + length, 0.0F);
}

// d := p · (d - Σ d · p), 0 outside begin…end.
ASSAY_CLONES void softmax_gradient_row(const float* p, float* d, std::int64_t begin,
                                       std::int64_t end, std::int64_t length) {
  float sum = 0;
  for (std::int64_t j = begin; j < end; ++j) sum += d[j] * p[j];
  for (std::int64_t j = begin; j < end; ++j) d[j] = p[j] * (d[j] - sum);
  std::fill(d, d + begin, 0.0F);
  std::fill(d + end, d + length, 0.0F);
}

struct AttentionShape {
  std::int64_t batch;
  std::int64_t length;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t width;  // of one head

  AttentionShape(const torch::Tensor& q, const torch::Tensor& k)
      : batch(q.size(0)),
        length(q.size(1)),
        heads(q.size(2)),
        kv_heads(k.size(2)),
        width(q.size(3)) {}

  [[nodiscard]] std::int64_t group() const { return heads / kv_heads; }
  [[nodiscard]] std::int64_t q_row() const { return heads * width; }
  [[nodiscard]] std::int64_t k_row() const { return kv_heads * width; }
  [[nodiscard]] std::int64_t q_at(std::int64_t item, std::int64_t head) const {
    return item * length * q_row() + head * width;
  }
  [[nodiscard]] std::int64_t k_at(std::int64_t item, std::int64_t kv) const {
    return item * length * k_row() + kv * width;
  }
  [[nodiscard]] std::int64_t scores_at(std::int64_t item, std::int64_t head) const {
    return (item * heads + head) * length * length;
  }
  [[nodiscard]] float scale() const { return 1.0F / std::sqrt(static_cast<float>(width)); }

  // Calls f in threads with each item of the batch and head of keys.
  template <typename F>
  void each(const F& f) const {
    at::parallel_for(0, batch * kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) f(i / kv_heads, i % kv_heads);
    });
  }
};

// The first position visible to a row.
std::int64_t first_of(const std::int32_t* from, const AttentionShape& s, std::int64_t item,
                      std::int64_t row) {
  return from == nullptr ? 0 : from[item * s.length + row];
}

struct CausalAttention : torch::autograd::Function<CausalAttention> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& q,
                               const torch::Tensor& k, const torch::Tensor& v,
                               const MaybeTensor& from) {
    const AttentionShape s(q, k);
    torch::Tensor scores = torch::empty({s.batch, s.heads, s.length, s.length}, q.options());
    torch::Tensor out = torch::empty({s.batch, s.length, s.q_row()}, q.options());
    const std::int32_t* const first = from ? from->data_ptr<std::int32_t>() : nullptr;
    const float* const queries = q.data_ptr<float>();
    const float* const keys = k.data_ptr<float>();
    const float* const values = v.data_ptr<float>();
    float* const p = scores.data_ptr<float>();
    float* const y = out.data_ptr<float>();
    s.each([&](std::int64_t item, std::int64_t kv) {
      for (std::int64_t head = kv * s.group(); head < (kv + 1) * s.group(); ++head) {
        float* const rows = p + s.scores_at(item, head);
        fast_gemm(false, true, s.length, s.length, s.width, s.scale(), queries + s.q_at(item, head),
                  s.q_row(), keys + s.k_at(item, kv), s.k_row(), 0, rows, s.length);
        for (std::int64_t i = 0; i < s.length; ++i)
          softmax_row(rows + i * s.length, first_of(first, s, item, i), i + 1, s.length);
        fast_gemm(false, false, s.length, s.width, s.length, 1, rows, s.length,
                  values + s.k_at(item, kv), s.k_row(), 0, y + s.q_at(item, head), s.q_row());
      }
    });
    context->save_for_backward({q, k, v, scores, from ? *from : torch::Tensor()});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor dout = gradients[0].contiguous();
    const AttentionShape s(saved[0], saved[1]);
    torch::Tensor dq = torch::empty_like(saved[0]);
    torch::Tensor dk = torch::empty_like(saved[1]);
    torch::Tensor dv = torch::empty_like(saved[2]);
    torch::Tensor scratch =
        torch::empty({s.batch * s.kv_heads, s.length, s.length}, dout.options());
    const std::int32_t* const first =
        saved[4].defined() ? saved[4].data_ptr<std::int32_t>() : nullptr;
    const float* const queries = saved[0].data_ptr<float>();
    const float* const keys = saved[1].data_ptr<float>();
    const float* const values = saved[2].data_ptr<float>();
    const float* const p = saved[3].data_ptr<float>();
    const float* const dy = dout.data_ptr<float>();
    float* const to_q = dq.data_ptr<float>();
    float* const to_k = dk.data_ptr<float>();
    float* const to_v = dv.data_ptr<float>();
    float* const room = scratch.data_ptr<float>();
    s.each([&](std::int64_t item, std::int64_t kv) {
      float* const d = room + (item * s.kv_heads + kv) * s.length * s.length;
      const std::int64_t at = s.k_at(item, kv);
      float beta = 0;  // heads that share keys and values add to their gradients
      for (std::int64_t head = kv * s.group(); head < (kv + 1) * s.group(); ++head, beta = 1) {
        const float* const rows = p + s.scores_at(item, head);
        const float* const up = dy + s.q_at(item, head);
        fast_gemm(true, false, s.length, s.width, s.length, 1, rows, s.length, up, s.q_row(), beta,
                  to_v + at, s.k_row());
        fast_gemm(false, true, s.length, s.length, s.width, 1, up, s.q_row(), values + at,
                  s.k_row(), 0, d, s.length);
        for (std::int64_t i = 0; i < s.length; ++i)
          softmax_gradient_row(rows + i * s.length, d + i * s.length, first_of(first, s, item, i),
                               i + 1, s.length);
        fast_gemm(false, false, s.length, s.width, s.length, s.scale(), d, s.length, keys + at,
                  s.k_row(), 0, to_q + s.q_at(item, head), s.q_row());
        fast_gemm(true, false, s.length, s.width, s.length, s.scale(), d, s.length,
                  queries + s.q_at(item, head), s.q_row(), beta, to_k + at, s.k_row());
      }
    });
    return {dq, dk, dv, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor cpu_causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                                   const torch::Tensor& v, const torch::Tensor& from) {
  return CausalAttention::apply(q.contiguous(), k.contiguous(), v.contiguous(),
                                from.defined() ? MaybeTensor(from.contiguous()) : MaybeTensor());
}

}  // namespace assay::train
