// The kernels that training uses against plain loops, in memory that notices what is written beside
// it. These tests run once more for each lower level of the processor (CMakeLists.txt).
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/guarded_memory.h"
#include "kernels/kernel_cases.h"
#include "kernels/plain_math.h"
#include "needs.h"

namespace assay::testing {
namespace {

using ::testing::ElementsAre;

TEST(PlainMath, ConvolvesByHand) {
  ConvolutionShape s;
  s.batch = 1;
  s.height = 1;
  s.width = 3;
  s.kernel = 1;
  ConvolutionNumbers n{{1, 2, 3}, {10}, {5}, {1, 0, 2}, {}, {}, {}, {}};
  convolve(s, n);
  EXPECT_THAT(n.y, ElementsAre(15, 25, 35));
  EXPECT_THAT(n.dx, ElementsAre(10, 0, 20));
  EXPECT_THAT(n.dw, ElementsAre(7));
  EXPECT_THAT(n.db, ElementsAre(3));

  // Windows of 3×3 at the corners of 3×3: only the middle is below the first and last weight.
  s.height = 3;
  s.kernel = 3;
  s.stride = 2;
  s.padding = 1;
  n = {{1, 2, 3, 4, 5, 6, 7, 8, 9},
       {1, 0, 0, 0, 0, 0, 0, 0, 100},
       {0},
       {1, 1, 1, 1},
       {},
       {},
       {},
       {}};
  convolve(s, n);
  EXPECT_THAT(n.y, ElementsAre(500, 0, 0, 5));
  EXPECT_THAT(n.dx, ElementsAre(0, 0, 0, 0, 101, 0, 0, 0, 0));
}

class GuardedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!guard_memory(true))
      GTEST_SKIP() << needs::system("sanitizers have an allocator of their own");
  }
  void TearDown() override {
    guard_memory(false);
    static_cast<void>(damaged_blocks());
  }

  static unsigned char* block(std::size_t size) {
    void* place = nullptr;
    return ::posix_memalign(&place, 64, size) == 0 ? static_cast<unsigned char*>(place) : nullptr;
  }
};

TEST_F(GuardedMemoryTest, NoticesAByteBesideABlockInUseAndAfterwards) {
  for (const int at : {-1, 100}) {
    unsigned char* const memory = block(100);
    for (int i = 0; i < 100; ++i) memory[i] = 1;
    EXPECT_EQ(damaged_blocks(), 0U);
    memory[at] = 1;
    EXPECT_EQ(damaged_blocks(), 1U) << at;
    EXPECT_EQ(damaged_blocks(), 0U) << "each damage counts once";
    memory[at] = 1;
    std::free(memory);
    EXPECT_EQ(damaged_blocks(), 1U) << at;
  }
}

TEST_F(GuardedMemoryTest, EndsAtAPageThatCannotBeTouched) {
  volatile unsigned char* const memory = block(128);
  EXPECT_EXIT(memory[128] = 1, ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(GuardedMemoryTest, HoldsTensors) {
  const torch::Tensor tensor = torch::empty({5});
  EXPECT_TRUE(tensor.isnan().all().item<bool>()) << "what nobody wrote is NaN";
  tensor.data_ptr<float>()[5] = 0;
  EXPECT_EQ(damaged_blocks(), 1U);
}

class KernelTest : public ::testing::Test {
 protected:
  KernelTest() { guard_memory(true); }
  ~KernelTest() override { guard_memory(false); }

  static void run(const KernelCase& one) {
    EXPECT_EQ(one.run(), "") << one.name;
    EXPECT_EQ(damaged_blocks(), 0U) << one.name;
  }

  static void run(const ConvolutionShape& shape, Layout layout = Layout::nhwc,
                  torch::ScalarType type = torch::kFloat) {
    run(convolution_case(shape, layout, type, train_convolution));
  }
};

ConvolutionShape shape(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t height,
                       std::int64_t width, std::int64_t kernel, std::int64_t stride) {
  return {batch, in, out, height, width, kernel, stride, kernel / 2, 1, 1};
}

// oneDNN 2.6: a wrong gradient of the weights or no end with AVX2, memory written over with
// AVX-512.
TEST_F(KernelTest, StridesOfWindowsOf1x1) {
  for (const std::int64_t in : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40})
    for (const std::int64_t out : {2, 15, 20, 64})
      for (const std::int64_t size : {4, 12, 28}) run(shape(3, in, out, size, size, 1, 2));
  for (const std::int64_t in : {2, 9, 16})
    for (const std::int64_t size : {5, 9, 15}) run(shape(2, in, 7, size, size - 1, 1, 3));
}

TEST_F(KernelTest, WindowsOfAllSizes) {
  for (const Layout layout : {Layout::nhwc, Layout::nchw})
    for (const std::int64_t kernel : {1, 3, 5, 7})
      for (const std::int64_t stride : {1, 2})
        for (const std::int64_t in : {1, 3, 8, 17})
          for (const std::int64_t out : {1, 5, 16, 33})
            for (const std::int64_t size : {1, 6, 7})
              run(shape(2, in, out, size, size, kernel, stride), layout);
}

// oneDNN 2.6 with AVX-512: gradients of the input that are wrong, NaN or not there.
TEST_F(KernelTest, BFloat16) {
  run(shape(17, 37, 23, 13, 30, 1, 1), Layout::nhwc, torch::kBFloat16);
  run(shape(2, 46, 1, 5, 6, 1, 1), Layout::nhwc, torch::kBFloat16);
  run(shape(3, 65, 60, 8, 24, 7, 1), Layout::nhwc, torch::kBFloat16);
  run(shape(2, 38, 3, 1, 1, 3, 2), Layout::nhwc, torch::kBFloat16);
  run(shape(17, 34, 61, 2, 2, 3, 4), Layout::nchw, torch::kBFloat16);
  run(shape(17, 5, 40, 16, 14, 1, 2), Layout::nhwc, torch::kBFloat16);
  run(shape(2, 16, 32, 9, 9, 3, 2), Layout::nhwc, torch::kBFloat16);
}

TEST_F(KernelTest, DenseLayers) {
  for (const std::int64_t rows : {1, 2, 17})
    for (const std::int64_t in : {1, 7, 16, 33, 64})
      for (const std::int64_t out : {1, 3, 10, 16, 65})
        run(linear_case(rows, in, out, torch::kFloat));
}

TEST_F(KernelTest, Pools) {
  for (const std::int64_t channels : {1, 3, 8, 17, 33})
    for (const std::int64_t kernel : {2, 3})
      for (const std::int64_t stride : {1, 2}) {
        ConvolutionShape s = shape(2, channels, channels, 7, 6, kernel, stride);
        run(pool_case(s));
      }
}

}  // namespace
}  // namespace assay::testing
