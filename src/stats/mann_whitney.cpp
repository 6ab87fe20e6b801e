#include "stats/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/normal.h"

namespace assay::stats {

namespace {

constexpr std::size_t kExactLimit = 20;

// The number of arrangements of n and m values with U = u, for every u, in doubles (C(40, 20) ≈
// 1.4e11 is exact in a double).
std::vector<double> distribution(std::size_t n, std::size_t m) {
  // The generating function is the Gaussian binomial: Π (1-x^(m+i)) / (1-x^i), i = 1..n.
  std::vector<double> count(n * m + 1, 0.0);
  count[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = count.size(); u-- > m + i;) count[u] -= count[u - (m + i)];
    for (std::size_t u = i; u < count.size(); ++u) count[u] += count[u - i];
  }
  return count;
}

double exact_p(double u, std::size_t n, std::size_t m) {
  const std::vector<double> count = distribution(n, m);
  const double smaller = std::min(u, static_cast<double>(n * m) - u);
  double total = 0;
  double tail = 0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    total += count[i];
    if (static_cast<double>(i) <= smaller) tail += count[i];
  }
  return std::min(1.0, 2 * tail / total);
}

}  // namespace

std::optional<MannWhitney> mann_whitney(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return std::nullopt;
  struct Item {
    double value;
    bool first;
  };
  std::vector<Item> all;
  all.reserve(a.size() + b.size());
  for (const double v : a) all.push_back({v, true});
  for (const double v : b) all.push_back({v, false});
  if (!std::ranges::all_of(all, [](const Item& i) { return std::isfinite(i.value); }))
    return std::nullopt;
  std::ranges::sort(all, {}, &Item::value);

  double rank_sum = 0;
  double tie_term = 0;
  bool ties = false;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    while (j < all.size() && all[j].value == all[i].value) ++j;
    const auto size = static_cast<double>(j - i);
    const double rank = static_cast<double>(i) + (size + 1) / 2;
    for (std::size_t k = i; k < j; ++k)
      if (all[k].first) rank_sum += rank;
    if (j - i > 1) {
      ties = true;
      tie_term += size * size * size - size;
    }
    i = j;
  }

  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  MannWhitney result;
  result.u = rank_sum - n * (n + 1) / 2;
  result.superiority = result.u / (n * m);
  if (!ties && a.size() <= kExactLimit && b.size() <= kExactLimit) {
    result.exact = true;
    result.p_value = exact_p(result.u, a.size(), b.size());
    return result;
  }
  const double total = n + m;
  const double variance = n * m / 12 * (total + 1 - tie_term / (total * (total - 1)));
  if (variance > 0) {
    const double distance = std::max(0.0, std::abs(result.u - n * m / 2) - 0.5);
    result.p_value = std::min(1.0, 2 * normal_cdf(-distance / std::sqrt(variance)));
  }
  return result;
}

}  // namespace assay::stats
