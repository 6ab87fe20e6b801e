#include <array>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "train/data/random.h"

namespace assay::train::data {
namespace {

TEST(Permutation, TakesEveryPlaceExactlyOnce) {
  for (std::int64_t n = 1; n < 700; ++n) {
    const Permutation order(n, static_cast<std::uint64_t>(n) * 31);
    std::vector<bool> seen(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t to = order(i);
      ASSERT_GE(to, 0);
      ASSERT_LT(to, n);
      ASSERT_FALSE(seen[to]) << n << " " << i;
      seen[to] = true;
    }
  }
}

TEST(Permutation, StaysInRangeForMoreThan32Bits) {
  const std::int64_t n = (std::int64_t{1} << 40) + 12345;
  const Permutation order(n, 9);
  for (std::int64_t i = n - 1000; i < n; ++i) {
    ASSERT_GE(order(i), 0);
    ASSERT_LT(order(i), n);
  }
}

TEST(Permutation, SendsEveryPlaceEverywhereEquallyOften) {
  // Chi-square over 40,000 keys: 25 cells for each of 5 places; 16 degrees of freedom, p < 1e-4.
  constexpr int n = 5;
  constexpr int keys = 40000;
  std::array<std::array<int, n>, n> count{};
  for (int key = 0; key < keys; ++key) {
    const Permutation order(n, static_cast<std::uint64_t>(key));
    for (int i = 0; i < n; ++i) ++count[i][order(i)];
  }
  const double expected = static_cast<double>(keys) / n;
  double chi = 0;
  for (const auto& row : count)
    for (const int cell : row) chi += (cell - expected) * (cell - expected) / expected;
  EXPECT_LT(chi, 45.0);
}

TEST(Permutation, NeighboursDoNotStayNeighbours) {
  const std::int64_t n = 10000;
  const Permutation order(n, 4);
  int near = 0;
  for (std::int64_t i = 0; i + 1 < n; ++i) near += std::abs(order(i) - order(i + 1)) < n / 100;
  // Two random places are that near with probability 1.99 %.
  EXPECT_NEAR(near, 199, 60);
}

TEST(Random, DependsOnEveryKeyAndItsPlace) {
  std::map<std::uint64_t, int> first;
  for (std::uint64_t a = 0; a < 20; ++a)
    for (std::uint64_t b = 0; b < 20; ++b)
      for (std::uint64_t c = 0; c < 20; ++c) ++first[Random(a, b, c).bits()];
  EXPECT_EQ(first.size(), 8000U);
}

TEST(Random, NumbersBelowABoundAreEven) {
  Random random(3);
  std::array<int, 7> count{};
  for (int i = 0; i < 70000; ++i) ++count[random.below(7)];
  for (const int c : count) EXPECT_NEAR(c, 10000, 400);
}

}  // namespace
}  // namespace assay::train::data
