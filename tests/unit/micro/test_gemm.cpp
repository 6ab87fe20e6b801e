#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "micro/gemm.h"

namespace assay::micro {
namespace {

// Entry by entry with whole numbers, which floats hold exactly.
std::vector<float> plain_product(const std::vector<float>& a, const std::vector<float>& b,
                                 std::size_t n) {
  std::vector<float> c(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      int sum = 0;
      for (std::size_t k = 0; k < n; ++k)
        sum += static_cast<int>(a[i * n + k]) * static_cast<int>(b[k * n + j]);
      c[i * n + j] = static_cast<float>(sum);
    }
  return c;
}

TEST(Gemm, EveryKernelGivesTheExactProduct) {
  std::mt19937 random(1);
  for (const std::size_t n : {1U, 5U, 14U, 32U, 47U, 169U, 390U}) {
    std::vector<float> a(n * n);
    std::vector<float> b(n * n);
    for (float& x : a) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
    for (float& x : b) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
    const std::vector<float> expected = plain_product(a, b, n);
    for (const std::string_view kernel : Gemm::kernels()) {
      Gemm gemm(kernel);
      ASSERT_EQ(gemm.kernel(), kernel);
      std::vector<float> c(n * n, -1.0F);
      gemm.multiply(a.data(), b.data(), c.data(), n, 0, n / 2);
      gemm.multiply(a.data(), b.data(), c.data(), n, n / 2, n);
      EXPECT_EQ(c, expected) << kernel << " " << n;
    }
  }
}

TEST(Gemm, TheGenericKernelIsAlwaysThere) {
  ASSERT_FALSE(Gemm::kernels().empty());
  EXPECT_EQ(Gemm::kernels().back(), "generic");
  EXPECT_EQ(Gemm().kernel(), Gemm::kernels().front());
}

}  // namespace
}  // namespace assay::micro
