#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/time.h"
#include "train/data/image_set.h"
#include "train/data/loader.h"
#include "unit/train/data/helpers.h"

namespace assay::train::data {
namespace {

using testing::CountingSource;
using testing::error_of;
using ::testing::HasSubstr;
using Labels = std::vector<std::int64_t>;

LoaderOptions options_for(Pass pass, std::int64_t batch, std::int64_t rank = 0,
                          std::int64_t world = 1) {
  LoaderOptions options;
  options.pass = pass;
  options.batch_size = batch;
  options.rank = rank;
  options.world = world;
  options.epochs = 1;
  options.timeout = std::chrono::seconds(30);
  return options;
}

std::vector<Labels> batches_of(ImageLoader& loader) {
  std::vector<Labels> batches;
  while (const ImageLoan loan = loader.next())
    batches.emplace_back(loan->labels, loan->labels + loan->size);
  return batches;
}

std::vector<Labels> batches_of(std::int64_t samples, const LoaderOptions& options) {
  ImageLoader loader(std::make_shared<CountingSource>(samples), options);
  return batches_of(loader);
}

TEST(Loader, TrainingGivesEverySampleAtMostOnceOverAllRanksAndDropsTheSameTail) {
  std::set<std::int64_t> seen;
  std::size_t count = 0;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    const std::vector<Labels> batches = batches_of(103, options_for(Pass::train, 4, rank, 3));
    EXPECT_EQ(batches.size(), 8U);  // 103 / 12
    for (const Labels& batch : batches) {
      EXPECT_EQ(batch.size(), 4U);
      seen.insert(batch.begin(), batch.end());
      count += batch.size();
    }
  }
  EXPECT_EQ(count, 96U);
  EXPECT_EQ(seen.size(), 96U);
}

void expect_exact_evaluation(int samples, int batch_size, int world) {
  std::map<std::int64_t, int> seen;
  std::set<std::size_t> batch_counts;
  for (int rank = 0; rank < world; ++rank) {
    const std::vector<Labels> batches =
        batches_of(samples, options_for(Pass::eval, batch_size, rank, world));
    batch_counts.insert(batches.size());
    for (const Labels& labels : batches) {
      EXPECT_FALSE(labels.empty());
      for (const std::int64_t label : labels) ++seen[label];
    }
  }
  EXPECT_EQ(static_cast<int>(seen.size()), samples);
  for (const auto& [label, times] : seen) EXPECT_EQ(times, 1) << label;
  EXPECT_LE(*batch_counts.rbegin() - *batch_counts.begin(), 1U);
}

TEST(Loader, EvaluationGivesEverySampleExactlyOnceOverAllRanks) {
  expect_exact_evaluation(100, 7, 1);
  expect_exact_evaluation(100, 7, 3);
  expect_exact_evaluation(5, 2, 8);
  expect_exact_evaluation(64, 16, 4);
  expect_exact_evaluation(65, 16, 4);
  expect_exact_evaluation(1, 9, 1);
}

TEST(Loader, RanksTogetherMakeTheBatchesOfOneRank) {
  const std::vector<Labels> whole = batches_of(50, options_for(Pass::train, 8));
  const std::vector<Labels> left = batches_of(50, options_for(Pass::train, 4, 0, 2));
  const std::vector<Labels> right = batches_of(50, options_for(Pass::train, 4, 1, 2));
  ASSERT_EQ(whole.size(), left.size());
  for (std::size_t b = 0; b < whole.size(); ++b) {
    Labels both = left[b];
    both.insert(both.end(), right[b].begin(), right[b].end());
    EXPECT_EQ(whole[b], both);
  }
}

TEST(Loader, ContentDoesNotDependOnTheNumberOfThreads) {
  ImageSetOptions set_options;
  set_options.train_size = 300;
  const ImageSet set = open_image_set(set_options);
  std::vector<std::vector<std::uint8_t>> pixels;
  for (const std::int64_t threads : {1, 2, 7}) {
    LoaderOptions options = options_for(Pass::train, 32);
    options.threads = threads;
    options.buffers = threads + 1;
    options.epochs = 2;
    ImageLoader loader(set.train, options);
    pixels.emplace_back();
    while (const ImageLoan loan = loader.next())
      pixels.back().insert(pixels.back().end(), loan->pixels, loan->image(loan->size));
  }
  EXPECT_EQ(pixels[0].size(), 2U * 9 * 32 * 3072);
  EXPECT_EQ(pixels[0], pixels[1]);
  EXPECT_EQ(pixels[0], pixels[2]);
}

TEST(Loader, EveryEpochAndEverySeedHasItsOwnOrder) {
  LoaderOptions options = options_for(Pass::train, 60);
  options.epochs = 2;
  const std::vector<Labels> epochs = batches_of(60, options);
  options.seed = 2;
  const std::vector<Labels> other = batches_of(60, options);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[0], other[0]);
}

TEST(Loader, ResumesAtAnyBatchWithTheSameContent) {
  LoaderOptions options = options_for(Pass::train, 4);
  options.epochs = 3;
  const std::vector<Labels> all = batches_of(21, options);
  ASSERT_EQ(all.size(), 15U);
  for (std::int64_t start = 0; start <= 15; ++start) {
    options.start = {start / 5, start % 5};
    EXPECT_EQ(batches_of(21, options), std::vector<Labels>(all.begin() + start, all.end()));
  }
  options.start = {0, 5};  // after the last batch of an epoch
  EXPECT_EQ(batches_of(21, options), std::vector<Labels>(all.begin() + 5, all.end()));
}

TEST(Loader, SaysWhereEveryBatchBelongs) {
  LoaderOptions options = options_for(Pass::train, 5);
  options.epochs = 2;
  options.start = {0, 1};
  ImageLoader loader(std::make_shared<CountingSource>(10), options);
  EXPECT_EQ(loader.batches_per_epoch(), 2);
  EXPECT_EQ(loader.next().position(), (Position{0, 1}));
  EXPECT_EQ(loader.next().position(), (Position{1, 0}));
  EXPECT_EQ(loader.next().position(), (Position{1, 1}));
  EXPECT_FALSE(loader.next());
  EXPECT_FALSE(loader.next());
}

TEST(Loader, EvaluationLooksTheSameInEveryPass) {
  LoaderOptions options = options_for(Pass::eval, 4);
  options.epochs = 0;  // without end
  ImageLoader loader(std::make_shared<CountingSource>(6), options);
  for (int pass = 0; pass < 3; ++pass) {
    const ImageLoan full = loader.next();
    EXPECT_EQ(full->size, 4);
    EXPECT_EQ(full->labels[0], 0);
    EXPECT_EQ(full->image(0)[1], 0);  // the epoch that the source sees
    const ImageLoan rest = loader.next();
    EXPECT_EQ(rest->size, 2);
    EXPECT_EQ(rest->labels[1], 5);
  }
}

TEST(Loader, AnErrorInAThreadIsThrownByNextWhenItIsTheTurnOfItsBatch) {
  const auto fail = [](const SampleKey& key) {
    if (key.index >= 9)
      throw Error(ErrorKind::environment, "sample " + std::to_string(key.index) + " is bad");
  };
  for (const std::int64_t threads : {1, 4}) {
    LoaderOptions options = options_for(Pass::eval, 4);
    options.threads = threads;
    ImageLoader loader(std::make_shared<CountingSource>(20, fail), options);
    EXPECT_TRUE(loader.next());
    EXPECT_TRUE(loader.next());
    // Of 9, 10 and 11 in this batch the first is reported, whichever thread was faster.
    EXPECT_THAT(error_of([&] { static_cast<void>(loader.next()); }).message(),
                HasSubstr("sample 9 is bad"));
    EXPECT_THAT(error_of([&] { static_cast<void>(loader.next()); }).message(),
                HasSubstr("sample 9 is bad"));
  }
}

TEST(Loader, AForeignExceptionInAThreadBecomesAnError) {
  const auto fail = [](const SampleKey&) { throw std::runtime_error("odd"); };
  ImageLoader loader(std::make_shared<CountingSource>(20, fail), options_for(Pass::eval, 4));
  EXPECT_THAT(error_of([&] { static_cast<void>(loader.next()); }).message(), HasSubstr("odd"));
}

TEST(Loader, GoesAtOnceThoughItsThreadsHaveMuchToDo) {
  std::atomic<int> made{0};
  const auto slow = [&](const SampleKey&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++made;
  };
  const std::int64_t start = mono_now_ns();
  {
    LoaderOptions options = options_for(Pass::train, 500);
    options.threads = 4;
    const ImageLoader loader(std::make_shared<CountingSource>(1000, slow), options);
    while (made < 4) std::this_thread::yield();
  }
  EXPECT_LT(made, 500);
  EXPECT_LT(seconds(Nanoseconds(mono_now_ns() - start)), 2.0);
}

TEST(Loader, ABatchMayOutliveItsLoader) {
  ImageLoan loan;
  {
    ImageLoader loader(std::make_shared<CountingSource>(8), options_for(Pass::eval, 8));
    loan = loader.next();
  }
  ASSERT_TRUE(loan);
  EXPECT_EQ(loan->labels[7], 7);
}

TEST(Loader, AConsumerThatKeepsAllBuffersIsToldSo) {
  LoaderOptions options = options_for(Pass::eval, 1);
  options.buffers = 2;
  ImageLoader loader(std::make_shared<CountingSource>(8), options);
  ImageLoan one = loader.next();
  const ImageLoan two = loader.next();
  EXPECT_THAT(error_of([&] { static_cast<void>(loader.next()); }).message(),
              HasSubstr("all 2 batch buffers are with the consumer"));
  one.give_back();
  EXPECT_EQ(loader.next()->labels[0], 2);
}

TEST(Loader, BuffersGivenBackInAnyOrderAreUsedAgain) {
  LoaderOptions options = options_for(Pass::eval, 2);
  options.buffers = 3;
  ImageLoader loader(std::make_shared<CountingSource>(40), options);
  ImageLoan held = loader.next();
  for (std::int64_t b = 1; b < 20; ++b) {
    ImageLoan next = loader.next();
    ASSERT_EQ(next->labels[0], 2 * b);
    ASSERT_EQ(held->labels[0], 2 * (b - 1));  // not overwritten while lent
    held = std::move(next);
  }
}

TEST(Loader, ReportsHowLongTheConsumerWaited) {
  std::atomic<int> read{0};
  // On a busy machine the consumer may ask long after the loader has begun.
  const auto slow = [&](const SampleKey&) {
    if (read == 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ++read;
  };
  ImageLoader loader(std::make_shared<CountingSource>(2, slow), options_for(Pass::eval, 1));
  EXPECT_GE(loader.next().waited(), std::chrono::milliseconds(10));
  while (read < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  // The loader still has to put the sample into its batch.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(loader.next().waited(), Nanoseconds::zero());
}

TEST(Loader, AStalledSourceIsAnErrorAfterTheTimeout) {
  std::atomic<bool> go{false};
  const auto hang = [&](const SampleKey&) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  LoaderOptions options = options_for(Pass::eval, 1);
  options.timeout = std::chrono::milliseconds(30);
  ImageLoader loader(std::make_shared<CountingSource>(2, hang), options);
  const Error error = error_of([&] { static_cast<void>(loader.next()); });
  go = true;
  EXPECT_EQ(error.kind(), ErrorKind::environment);
  EXPECT_THAT(error.message(), HasSubstr("was not ready within"));
}

class CountingAllocator final : public HostAllocator {
 public:
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    ++allocated;
    live += static_cast<std::int64_t>(bytes);
    return heap_->allocate(bytes);
  }
  void release(std::byte* memory, std::size_t bytes) noexcept override {
    live -= static_cast<std::int64_t>(bytes);
    heap_->release(memory, bytes);
  }
  int allocated = 0;
  std::int64_t live = 0;

 private:
  std::shared_ptr<HostAllocator> heap_ = heap_allocator();
};

TEST(Loader, TakesItsBuffersFromTheAllocatorAndReturnsThem) {
  const auto allocator = std::make_shared<CountingAllocator>();
  {
    LoaderOptions options = options_for(Pass::eval, 2);
    options.allocator = allocator;
    options.buffers = 3;
    ImageLoader loader(std::make_shared<CountingSource>(100), options);
    while (loader.next()) {
    }
    EXPECT_EQ(allocator->allocated, 3);
    EXPECT_GT(allocator->live, 0);
  }
  EXPECT_EQ(allocator->live, 0);
}

TEST(Loader, RefusesWhatCannotBe) {
  const auto message = [](std::int64_t samples, LoaderOptions options) {
    const Error error = error_of([&] { static_cast<void>(batches_of(samples, options)); });
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.message();
  };
  EXPECT_THAT(message(10, options_for(Pass::train, 0)), HasSubstr("batch size is 0"));
  EXPECT_THAT(message(10, options_for(Pass::train, 11)), HasSubstr("10 training samples"));
  EXPECT_THAT(message(10, options_for(Pass::train, 6, 0, 2)), HasSubstr("on 2 ranks"));
  EXPECT_THAT(message(10, options_for(Pass::train, INT64_MAX, 0, 2)), HasSubstr("more than"));
  EXPECT_THAT(message(10, options_for(Pass::train, 1, 2, 2)), HasSubstr("rank 2"));
  EXPECT_THAT(message(0, options_for(Pass::eval, 1)), HasSubstr("empty"));
  LoaderOptions options = options_for(Pass::train, 5);
  options.start.batch = 3;
  EXPECT_THAT(message(10, options), HasSubstr("an epoch has 2"));
  options = options_for(Pass::train, 5);
  options.threads = 0;
  EXPECT_THAT(message(10, options), HasSubstr("0 loader threads"));
  options = options_for(Pass::train, 1'000'000'000'000);
  EXPECT_THAT(message(1'000'000'000'001, options), HasSubstr("do not fit"));
}

}  // namespace
}  // namespace assay::train::data
