// The steady state allocates nothing: counted by replacing the global operator new of this program.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "temporary_folder.h"
#include "train/data/image_set.h"
#include "train/data/loader.h"
#include "train/data/text_set.h"
#include "unit/train/data/helpers.h"

namespace {

std::atomic<std::size_t> g_allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace assay::train::data {
namespace {

// The smallest number of allocations of any pass after the first. A busy machine may give a loader
// thread its first image, and with it its scratch memory, in any pass: only a path that allocates
// for every image or batch does so in all of them.
template <class Batch>
std::size_t allocations_of_a_steady_pass(const std::shared_ptr<const Source<Batch>>& source) {
  LoaderOptions options;
  options.batch_size = 8;
  options.threads = 2;
  Loader<Batch> loader(source, options);
  const auto pass = [&] {
    const std::size_t before = g_allocations;
    for (std::int64_t i = 0; i < 2 * loader.batches_per_epoch(); ++i)
      static_cast<void>(loader.next());
    return g_allocations - before;
  };
  pass();
  std::size_t fewest = pass();
  for (int more = 0; more < 20 && fewest > 0; ++more) fewest = std::min(fewest, pass());
  return fewest;
}

TEST(Allocation, GeneratedImagesNeedNoneInTheSteadyState) {
  ImageSetOptions options;
  options.train_size = 64;
  EXPECT_EQ(allocations_of_a_steady_pass(open_image_set(options).train), 0U);
}

TEST(Allocation, GeneratedTextNeedsNoneInTheSteadyState) {
  TextSetOptions options;
  options.train_size = 64;
  options.eval_size = 2;
  EXPECT_EQ(allocations_of_a_steady_pass(open_text_set(options).train), 0U);
}

TEST(Allocation, JpegsOfOneSizeWithoutCropsNeedNoneInTheSteadyState) {
  const assay::testing::TemporaryFolder folder;
  for (int i = 0; i < 32; ++i)
    for (const char* split : {"train", "val"})
      testing::write(folder.path() / split / (i % 2 == 0 ? "a" : "b") /
                         ("image-with-a-long-name-" + std::to_string(i) + ".jpg"),
                     testing::encode_jpeg(testing::picture(100, 80, 1), 100, 80));
  ImageSetOptions options;
  options.set = "folder";
  options.path = folder.path();
  options.image_size = 32;
  options.augment = false;  // with crops, scratch memory grows to the largest one first
  EXPECT_EQ(allocations_of_a_steady_pass(open_image_set(options).train), 0U);
}

}  // namespace
}  // namespace assay::train::data
