#include "train/models/shared_ops.h"

#include <algorithm>

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// libtorch keeps numbers for backward, but no pointers.
std::int64_t handle_of(Exchange& exchange) {
  return reinterpret_cast<std::int64_t>(&exchange);  // NOLINT
}
Exchange& exchange_of(AutogradContext* context) {
  return *reinterpret_cast<Exchange*>(context->saved_data["exchange"].toInt());  // NOLINT
}

torch::Tensor all_tokens(const torch::Tensor& x, Exchange& exchange) {
  const torch::Tensor parts = exchange.gather(x.contiguous());  // [ranks, B, S / ranks, width]
  if (x.size(0) == 1) return parts.view({1, -1, x.size(2)});
  return parts.transpose(0, 1).reshape({x.size(0), -1, x.size(2)});
}

torch::Tensor own_tokens(const torch::Tensor& x, Exchange& exchange) {
  const std::int64_t ranks = exchange.size();
  return exchange.scatter_sum(
      x.view({x.size(0), ranks, x.size(1) / ranks, x.size(2)}).transpose(0, 1).contiguous());
}

struct GatherSequence : torch::autograd::Function<GatherSequence> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               std::int64_t exchange) {
    context->saved_data["exchange"] = exchange;
    return all_tokens(x, exchange_of(context));
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {own_tokens(gradients[0].contiguous(), exchange_of(context)), torch::Tensor()};
  }
};

struct ScatterSequence : torch::autograd::Function<ScatterSequence> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               std::int64_t exchange) {
    context->saved_data["exchange"] = exchange;
    return own_tokens(x.contiguous(), exchange_of(context));
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {all_tokens(gradients[0], exchange_of(context)), torch::Tensor()};
  }
};

struct ExchangeRows : torch::autograd::Function<ExchangeRows> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const std::vector<std::int64_t>& sent,
                               const std::vector<std::int64_t>& received, std::int64_t exchange) {
    context->saved_data["exchange"] = exchange;
    context->saved_data["sent"] = sent;
    context->saved_data["received"] = received;
    return exchange_of(context).all_to_all(x.contiguous(), sent, received);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const std::vector<std::int64_t> sent = context->saved_data["sent"].toIntVector();
    const std::vector<std::int64_t> received = context->saved_data["received"].toIntVector();
    return {exchange_of(context).all_to_all(gradients[0].contiguous(), received, sent),
            torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor gather_sequence(const torch::Tensor& x, Exchange* exchange) {
  return exchange == nullptr ? x : GatherSequence::apply(x, handle_of(*exchange));
}

torch::Tensor scatter_sequence(const torch::Tensor& x, Exchange* exchange) {
  return exchange == nullptr ? x : ScatterSequence::apply(x, handle_of(*exchange));
}

torch::Tensor exchange_rows(const torch::Tensor& x, const std::vector<std::int64_t>& sent,
                            const std::vector<std::int64_t>& received, Exchange* exchange) {
  return exchange == nullptr ? x : ExchangeRows::apply(x, sent, received, handle_of(*exchange));
}

torch::Tensor embed_shared(const torch::Tensor& tokens, const Weight& weight,
                           torch::ScalarType type, Exchange& exchange) {
  const std::int64_t words = weight.value.size(0);
  const torch::Tensor row = tokens - exchange.rank() * words;
  const torch::Tensor own = (row >= 0).logical_and(row < words);
  const torch::Tensor embedded = embed_tokens(row.clamp(0, words - 1), weight, type);
  return scatter_sequence(embedded * own.unsqueeze(2).to(type), &exchange);
}

TokenLosses shared_head_losses(const torch::Tensor& y, const Weight& weight,
                               const torch::Tensor& labels, HeadGradient* gradient,
                               bool count_right, Exchange& exchange) {
  torch::NoGradGuard no_grad;
  const std::int64_t words = weight.value.size(0);
  const std::int64_t count = y.size(0);
  const std::int64_t most = y.is_cuda() ? std::int64_t{1} << 31 : std::int64_t{1} << 22;  // logits
  const std::int64_t rows = std::max<std::int64_t>(64, most / words);
  const torch::Tensor matrix = weight.as(y.scalar_type());
  const double share = gradient == nullptr ? 0 : gradient->factor / static_cast<double>(count);
  TokenLosses out;
  out.sum = torch::zeros({}, y.options().dtype(torch::kFloat));
  if (count_right) out.right = torch::zeros({}, labels.options());
  if (gradient != nullptr) gradient->dy = torch::empty_like(y);
  for (std::int64_t begin = 0; begin < count; begin += rows) {
    const std::int64_t size = std::min(rows, count - begin);
    const torch::Tensor part = y.narrow(0, begin, size);
    const torch::Tensor column = labels.narrow(0, begin, size) - exchange.rank() * words;
    const torch::Tensor own = (column >= 0).logical_and(column < words);
    const torch::Tensor place = column.clamp(0, words - 1).unsqueeze(1);
    const torch::Tensor logits = at::mm(part, matrix.t()).to(torch::kFloat);
    const auto [highest, index] = logits.max(1);
    torch::Tensor largest = highest.clone();
    exchange.largest(largest);
    // The sum of the exponentials, and the label's logit from the one rank that has it.
    const torch::Tensor wanted = logits.gather(1, place).squeeze(1) * own;
    torch::Tensor p = (logits - largest.unsqueeze(1)).exp_();
    torch::Tensor sums = torch::stack({p.sum(1), wanted});
    exchange.sum(sums);
    out.sum += (sums[0].log() + largest - sums[1]).sum();
    if (count_right)
      out.right += (index == column).logical_and(own).logical_and(highest == largest).sum();
    if (gradient == nullptr) continue;
    p.div_(sums[0].unsqueeze(1)).scatter_add_(1, place, -own.to(torch::kFloat).unsqueeze(1));
    const torch::Tensor dlogits = p.mul_(share).to(y.scalar_type());
    gradient->dy.narrow(0, begin, size).copy_(input_gradient(dlogits, matrix));
    add_weight_gradient(weight.value, dlogits, part, weight.overwrite && begin == 0);
  }
  if (count_right) exchange.sum(out.right);
  return out;
}

}  // namespace assay::train
