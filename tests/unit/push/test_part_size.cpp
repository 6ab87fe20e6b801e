#include <gtest/gtest.h>

#include "push/part_size.h"

namespace assay::push {
namespace {

// How a file of a size is sent on a line of so many bytes a second: the longest part's time.
double longest_s(double rate) {
  PartSize size;
  double longest = 0;
  for (int i = 0; i < 50; ++i) {
    const double seconds = static_cast<double>(size.bytes()) / rate;
    if (i > 8) longest = std::max(longest, seconds);
    size.took(seconds);
  }
  return longest;
}

TEST(PartSizeTest, FitsTheLine) {
  EXPECT_LE(longest_s(10'000), 11) << "10 kB/s";
  EXPECT_LE(longest_s(100'000), 11);
  PartSize fast;
  for (int i = 0; i < 10; ++i) fast.took(0.01);
  EXPECT_EQ(fast.bytes(), PartSize::kMost);
  PartSize slow;
  for (int i = 0; i < 10; ++i) slow.took(100);
  EXPECT_EQ(slow.bytes(), PartSize::kLeast);
}

TEST(PartSizeTest, ShrinksUntilItCannot) {
  PartSize size;
  int tries = 0;
  while (size.failed()) ++tries;
  EXPECT_GT(tries, 0);
  EXPECT_EQ(size.bytes(), PartSize::kLeast);
}

}  // namespace
}  // namespace assay::push
