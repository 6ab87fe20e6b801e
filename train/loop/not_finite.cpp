#include "train/loop/not_finite.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"

namespace assay::train {
namespace {

constexpr std::size_t kNamedRanks = 4;

// "rank 1: WHAT; rank 3: WHAT; 5 more ranks"
template <typename What>
std::string of_ranks(const std::vector<std::size_t>& which, const What& what) {
  std::vector<std::string> parts;
  for (const std::size_t rank : which) {
    if (parts.size() == kNamedRanks) {
      parts.push_back(fmt::format("{} more", counted(which.size() - kNamedRanks, "rank")));
      break;
    }
    parts.push_back(fmt::format("rank {}: {}", rank, what(rank)));
  }
  return join(parts, "; ");
}

template <typename Holds>
std::vector<std::size_t> ranks_where(const std::vector<RankNumbers>& ranks, const Holds& holds) {
  std::vector<std::size_t> found;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (holds(ranks[rank])) found.push_back(rank);
  return found;
}

template <typename NumbersOf>
std::string first_not_finite(const FlatParameters& parameters, const NumbersOf& numbers_of) {
  torch::NoGradGuard no_grad;
  for (const FlatParameters::Entry& entry : parameters.entries())
    if (!numbers_of(entry).isfinite().all().template item<bool>()) return entry.name;
  return {};
}

}  // namespace

std::string origin_of(const std::vector<RankNumbers>& ranks) {
  const auto damaged = ranks_where(ranks, [](const auto& rank) { return !rank.parameter.empty(); });
  if (!damaged.empty())
    return of_ranks(damaged, [&](std::size_t rank) {
      return fmt::format("parameter {} has values that are not finite", ranks[rank].parameter);
    });
  const auto lost = ranks_where(ranks, [](const auto& rank) { return !std::isfinite(rank.loss); });
  if (!lost.empty() && lost.size() < ranks.size())
    return of_ranks(lost, [&](std::size_t rank) {
      return fmt::format("the loss of its samples is {}", ranks[rank].loss);
    });
  const auto summed = ranks_where(ranks, [](const auto& rank) { return !rank.gradient.empty(); });
  const std::string all = lost.empty() ? "all parameters and losses are finite"
                                       : "all parameters are finite, and no loss is";
  if (summed.empty()) return all;
  return all + "; the gradient of " + ranks[summed.front()].gradient + " is not";
}

std::string first_value_not_finite(const FlatParameters& parameters) {
  return first_not_finite(parameters, [&](const FlatParameters::Entry& entry) {
    return FlatParameters::part(parameters.values(), entry);
  });
}

std::string first_gradient_not_finite(const FlatParameters& parameters) {
  return first_not_finite(
      parameters, [&](const FlatParameters::Entry& entry) { return parameters.gradient(entry); });
}

std::string origin_of(const FlatParameters& own, double loss, Communicator& all) {
  RankNumbers mine{loss, first_value_not_finite(own), first_gradient_not_finite(own)};
  std::vector<RankNumbers> ranks;
  const std::vector<std::string> parameters = all.gather(mine.parameter);
  const std::vector<std::string> gradients = all.gather(mine.gradient);
  const std::vector<std::string> losses = all.gather(fmt::format("{}", loss));
  for (std::size_t rank = 0; rank < parameters.size(); ++rank)
    ranks.push_back(
        {std::strtod(losses[rank].c_str(), nullptr), parameters[rank], gradients[rank]});
  return origin_of(ranks);
}

}  // namespace assay::train
