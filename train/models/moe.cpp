#include "train/models/moe.h"

#include <numeric>

#include "train/models/llama_ops.h"
#include "train/models/shared_ops.h"

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Returns `values`; backward adds `weight` times the gradient of `loss`.
struct WithLoss : torch::autograd::Function<WithLoss> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& values,
                               const torch::Tensor& /*loss*/, double weight) {
    context->saved_data["weight"] = weight;
    return values.clone();
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor d = torch::full({}, context->saved_data["weight"].toDouble(),
                                        gradients[0].options().dtype(torch::kFloat));
    return {gradients[0], d, torch::Tensor()};
  }
};

// Permutes rows. Backward puts them back, which is faster than adding them.
struct PermuteRows : torch::autograd::Function<PermuteRows> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& rows,
                               const torch::Tensor& order, const torch::Tensor& inverse) {
    context->save_for_backward({inverse});
    return rows.index_select(0, order);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {gradients[0].index_select(0, context->get_saved_variables()[0]), torch::Tensor(),
            torch::Tensor()};
  }
};

// 1 if each sequence's tokens choose all experts equally.
torch::Tensor imbalance(const torch::Tensor& p, const torch::Tensor& chosen,
                        std::int64_t sequences) {
  const std::int64_t experts = p.size(1);
  const torch::Tensor choices = chosen.reshape({sequences, -1});
  const torch::Tensor shares =
      torch::zeros({sequences, experts}, p.options())
          .scatter_add_(1, choices, torch::ones(choices.sizes(), p.options()))
          .div_(static_cast<double>(choices.size(1)));
  const torch::Tensor means = p.view({sequences, -1, experts}).mean(1);
  return (shares * means).sum(1).mean() * static_cast<double>(experts);
}

std::vector<std::int64_t> on_host(const torch::Tensor& counts) {
  const torch::Tensor host = counts.cpu().contiguous();
  return {host.data_ptr<std::int64_t>(), host.data_ptr<std::int64_t>() + host.numel()};
}

// For rows sorted by rank, then by expert: their positions in the order by expert, then by rank.
// counts[rank · experts + expert].
std::vector<std::int64_t> by_expert(const std::vector<std::int64_t>& counts, std::int64_t ranks,
                                    std::int64_t experts) {
  std::vector<std::int64_t> begins(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), begins.begin() + 1);
  std::vector<std::int64_t> order;
  order.reserve(static_cast<std::size_t>(begins.back()));
  for (std::int64_t expert = 0; expert < experts; ++expert)
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const auto set = static_cast<std::size_t>(rank * experts + expert);
      for (std::int64_t row = begins[set]; row < begins[set + 1]; ++row) order.push_back(row);
    }
  return order;
}

}  // namespace

ExpertImpl::ExpertImpl(torch::Tensor gate_up_values, torch::Tensor down_values) {
  gate_up.value = register_parameter("gate_up", std::move(gate_up_values));
  down.value = register_parameter("down", std::move(down_values));
}

torch::Tensor ExpertImpl::forward(const torch::Tensor& rows) const {
  return project(swiglu(project(rows, gate_up)), down);
}

MixtureImpl::MixtureImpl(const LlamaOptions& options, const LlamaShare& share, const Values& values)
    : options_(options), share_(share) {
  router_.value = register_parameter("router", values("router"));
  for (std::int64_t i = 0; i < options.experts; ++i) {
    if (!share.has_expert(options, i)) continue;
    const std::string name = std::to_string(i);
    experts_.emplace_back(i, Expert(values(name + ".gate_up"), values(name + ".down")));
    register_module(name, experts_.back().second);
  }
}

std::vector<std::pair<std::string, Weight*>> MixtureImpl::weights() {
  std::vector<std::pair<std::string, Weight*>> all{{"router", &router_}};
  for (auto& [number, expert] : experts_) {
    const std::string name = std::to_string(number);
    all.emplace_back(name + ".gate_up", &expert->gate_up);
    all.emplace_back(name + ".down", &expert->down);
  }
  return all;
}

// This rank's rows sorted by expert, counts[i] for expert i; returns the same rows' results.
torch::Tensor MixtureImpl::through_experts(const torch::Tensor& rows,
                                           const std::vector<std::int64_t>& counts) const {
  const auto own = static_cast<std::int64_t>(experts_.size());
  const std::int64_t ranks = share_.expert == nullptr ? 1 : share_.expert->size();
  std::vector<std::int64_t> arrived = counts;  // by rank and expert
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> received(static_cast<std::size_t>(ranks));
  torch::Tensor order;
  torch::Tensor inverse;
  torch::Tensor mine = rows;
  if (share_.expert != nullptr) {
    const std::vector<std::int64_t> same(static_cast<std::size_t>(ranks), own);
    arrived = on_host(share_.expert->all_to_all(
        torch::tensor(counts, torch::kLong).to(rows.device()), same, same));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sent[i / static_cast<std::size_t>(own)] += counts[i];
      received[i / static_cast<std::size_t>(own)] += arrived[i];
    }
    mine = exchange_rows(rows, sent, received, share_.expert);
    order = torch::tensor(by_expert(arrived, ranks, own), torch::kLong).to(rows.device());
    inverse = order.argsort();
    mine = PermuteRows::apply(mine, order, inverse);
  }
  std::vector<torch::Tensor> results;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < own; ++i) {
    std::int64_t size = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      size += arrived[static_cast<std::size_t>(rank * own + i)];
    if (size > 0)
      results.push_back(
          experts_[static_cast<std::size_t>(i)].second->forward(mine.narrow(0, begin, size)));
    begin += size;
  }
  torch::Tensor out = results.empty() ? mine : torch::cat(results);
  if (share_.expert == nullptr) return out;
  out = PermuteRows::apply(out, inverse, order);
  return exchange_rows(out, received, sent, share_.expert);
}

torch::Tensor MixtureImpl::forward(const torch::Tensor& y, double balance) const {
  const torch::Tensor x = y.reshape({-1, y.size(2)});
  const torch::Tensor p = torch::softmax(project(x.to(torch::kFloat), router_), 1);
  auto [gates, chosen] = p.topk(options_.chosen, 1);
  gates = gates / gates.sum(1, true);
  if (balance > 0 && torch::GradMode::is_enabled())
    gates = WithLoss::apply(gates, imbalance(p, chosen, y.size(0)), balance);
  // One row per token and choice, sorted by expert.
  const torch::Tensor expert = chosen.flatten();
  const torch::Tensor order = std::get<1>(expert.sort(/*stable=*/true, 0, false));
  const torch::Tensor inverse = order.argsort();
  const std::vector<std::int64_t> counts = on_host(expert.bincount({}, options_.experts));
  const std::vector<std::int64_t> each{x.size(0), options_.chosen, x.size(1)};
  const torch::Tensor rows = x.unsqueeze(1).expand(each).reshape({-1, x.size(1)});
  const torch::Tensor results = through_experts(PermuteRows::apply(rows, order, inverse), counts);
  const torch::Tensor back = PermuteRows::apply(results, inverse, order).view(each);
  return (back * gates.unsqueeze(2).to(back.scalar_type())).sum(1).view(y.sizes());
}

}  // namespace assay::train
