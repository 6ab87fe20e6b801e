#include <cmath>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "temporary_folder.h"
#include "train/data/cifar.h"
#include "train/data/loader.h"
#include "train/data/mnist.h"
#include "train/data/set_files.h"
#include "unit/train/data/helpers.h"

namespace assay::train::data {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::write;

ImageSetOptions options_for(const std::string& set, const std::filesystem::path& path) {
  ImageSetOptions options;
  options.set = set;
  options.path = path;
  return options;
}

std::string cifar_file(int records, int first) {
  std::string file;
  for (int i = 0; i < records; ++i) {
    file += static_cast<char>((first + i) % 10);
    for (int p = 0; p < 3072; ++p) file += static_cast<char>((first + i + p * 7 + p / 1024) % 251);
  }
  return file;
}

void write_cifar(const std::filesystem::path& folder) {
  for (int i = 1; i <= 5; ++i)
    write(folder / ("data_batch_" + std::to_string(i) + ".bin"), cifar_file(2, 2 * i));
  write(folder / "test_batch.bin", cifar_file(3, 50));
}

TEST(Cifar10, PlanesBecomePixelsAndLabelsStay) {
  const assay::testing::TemporaryFolder folder;
  write_cifar(folder.path() / "cifar-10-batches-bin");
  const ImageSet set = open_image_set(options_for("cifar10", folder.path()));
  EXPECT_EQ(set.info.train_size, 10);
  EXPECT_EQ(set.info.eval_size, 3);
  EXPECT_EQ(set.info.classes, 10);
  ImageBatch batch(set.eval->shape(), 1, heap_allocator());
  set.eval->make_reader()->read({1, 0, 0}, batch, 0);
  EXPECT_EQ(batch.labels[0], 1);
  const std::string file = cifar_file(3, 50);
  for (int p = 0; p < 1024; ++p)
    for (int c = 0; c < 3; ++c)
      ASSERT_EQ(batch.pixels[3 * p + c], static_cast<std::uint8_t>(file[3073 + 1 + c * 1024 + p]));
}

TEST(Cifar10, TrainingImagesAreShiftedByAtMostFourPixelsAndFlipped) {
  const assay::testing::TemporaryFolder folder;
  write_cifar(folder.path());
  ImageSetOptions options = options_for("cifar10", folder.path());
  const ImageSet set = open_image_set(options);
  options.augment = false;
  const ImageSet plain = open_image_set(options);
  ImageBatch original(set.train->shape(), 1, heap_allocator());
  plain.train->make_reader()->read({4, 0, 0}, original, 0);
  ImageBatch batch(set.train->shape(), 1, heap_allocator());
  int flips = 0;
  std::set<std::pair<int, int>> shifts;
  for (int epoch = 0; epoch < 400; ++epoch) {
    set.train->make_reader()->read({4, epoch, 7}, batch, 0);
    int matches = 0;
    for (int flip = 0; flip < 2; ++flip)
      for (int down = -4; down <= 4; ++down)
        for (int right = -4; right <= 4; ++right) {
          bool same = true;
          for (int p = 0; p < 1024 && same; ++p) {
            const int y = p / 32 - down;
            const int x = (flip == 1 ? 31 - p % 32 : p % 32) - right;
            const bool inside = y >= 0 && y < 32 && x >= 0 && x < 32;
            for (int c = 0; c < 3; ++c)
              same = same && batch.pixels[3 * p + c] ==
                                 (inside ? original.pixels[3 * (32 * y + x) + c] : 0);
          }
          if (!same) continue;
          ++matches;
          flips += flip;
          shifts.insert({down, right});
        }
    ASSERT_EQ(matches, 1) << epoch;
  }
  EXPECT_NEAR(flips, 200, 50);
  EXPECT_GT(shifts.size(), 70U);  // of 81
}

TEST(Cifar10, ACutOffFileIsNamed) {
  const assay::testing::TemporaryFolder folder;
  write_cifar(folder.path());
  std::filesystem::resize_file(folder.path() / "data_batch_3.bin", 5000);
  const Error error =
      error_of([&] { return open_image_set(options_for("cifar10", folder.path())); });
  EXPECT_EQ(error.kind(), ErrorKind::environment);
  EXPECT_THAT(error.where(), HasSubstr("data_batch_3.bin"));
  EXPECT_THAT(error.message(), HasSubstr("5000 bytes"));
}

TEST(Cifar10, AWrongLabelIsNamedWithItsRecord) {
  const assay::testing::TemporaryFolder folder;
  write_cifar(folder.path());
  std::string file = cifar_file(3, 0);
  file[2 * 3073] = 10;
  write(folder.path() / "test_batch.bin", file);
  const Error error =
      error_of([&] { return open_image_set(options_for("cifar10", folder.path())); });
  EXPECT_THAT(error.message(), HasSubstr("record 2 has the label 10"));
}

TEST(Cifar10, MissingFilesAndFoldersAreNamed) {
  const assay::testing::TemporaryFolder folder;
  const auto message = [&](const std::filesystem::path& path) {
    return std::string(
        error_of([&] { return open_image_set(options_for("cifar10", path)); }).what());
  };
  EXPECT_THAT(message(folder.path()), HasSubstr("no data_batch_1.bin in this folder"));
  EXPECT_THAT(message(folder.path() / "no"), HasSubstr("no such folder"));
  EXPECT_THAT(message(""), HasSubstr("needs a folder"));
  write(folder.path() / "file", "x");
  EXPECT_THAT(message(folder.path() / "file"), HasSubstr("not a folder"));
  write_cifar(folder.path());
  std::filesystem::remove(folder.path() / "test_batch.bin");
  EXPECT_THAT(message(folder.path()),
              AllOf(HasSubstr("test_batch.bin"), HasSubstr("no such file")));
}

TEST(Cifar10, AskingForOtherClassesIsAnError) {
  const assay::testing::TemporaryFolder folder;
  write_cifar(folder.path());
  ImageSetOptions options = options_for("cifar10", folder.path());
  options.classes = 100;
  EXPECT_EQ(error_of([&] { return open_image_set(options); }).kind(), ErrorKind::config);
}

std::string idx(std::initializer_list<int> sizes, const std::string& data) {
  std::string file{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (const int size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift);
  return file + data;
}

void write_mnist(const std::filesystem::path& folder) {
  std::string pixels;
  for (int i = 0; i < 4 * 28 * 28; ++i) pixels += static_cast<char>(i % 253);
  write(folder / "train-images-idx3-ubyte", idx({4, 28, 28}, pixels));
  write(folder / "train-labels-idx1-ubyte", idx({4}, std::string("\x00\x02\x01\x02", 4)));
  write(folder / "t10k-images-idx3-ubyte", idx({2, 28, 28}, pixels.substr(0, 2 * 28 * 28)));
  write(folder / "t10k-labels-idx1-ubyte", idx({2}, std::string("\x01\x00", 2)));
}

TEST(Mnist, ReadsImagesLabelsAndStatistics) {
  const assay::testing::TemporaryFolder folder;
  write_mnist(folder.path());
  const ImageSet set = open_image_set(options_for("mnist", folder.path()));
  EXPECT_EQ(set.info.classes, 3);
  EXPECT_EQ(set.info.channels, 1);
  EXPECT_EQ(set.info.train_size, 4);
  ImageBatch batch(set.eval->shape(), 1, heap_allocator());
  set.eval->make_reader()->read({1, 0, 0}, batch, 0);
  EXPECT_EQ(batch.labels[0], 0);
  for (int p = 0; p < 784; ++p) ASSERT_EQ(batch.pixels[p], (784 + p) % 253);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 4 * 784; ++i) {
    sum += i % 253 / 255.0;
    squares += (i % 253 / 255.0) * (i % 253 / 255.0);
  }
  const double mean = sum / (4 * 784);
  EXPECT_NEAR(set.info.mean[0], mean, 1e-6);
  EXPECT_NEAR(set.info.std[0], std::sqrt(squares / (4 * 784) - mean * mean), 1e-6);
}

TEST(Mnist, AnImageSmallerThanItsShiftIsMovedOutOfSight) {
  const assay::testing::TemporaryFolder folder;
  for (const std::string split : {"train", "t10k"}) {
    write(folder.path() / (split + "-images-idx3-ubyte"),
          idx({1, 1, 1}, std::string(1, static_cast<char>(200))));
    write(folder.path() / (split + "-labels-idx1-ubyte"), idx({1}, std::string(1, '\0')));
  }
  const ImageSet set = open_image_set(options_for("mnist", folder.path()));
  ImageBatch batch(set.train->shape(), 1, heap_allocator());
  const auto reader = set.train->make_reader();
  std::set<int> seen;
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    reader->read({0, epoch, 1}, batch, 0);
    seen.insert(batch.pixels[0]);
  }
  EXPECT_EQ(seen, (std::set<int>{0, 200}));
}

TEST(Cifar10, AFileThatIsAPipeIsAnErrorAndNotWaitedFor) {
  const assay::testing::TemporaryFolder folder;
  write_cifar(folder.path());
  const std::filesystem::path pipe = folder.path() / "data_batch_2.bin";
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(
      error_of([&] { return open_image_set(options_for("cifar10", folder.path())); }).what(),
      HasSubstr("data_batch_2.bin: this is not a regular file"));
}

TEST(Mnist, CompressedFilesAreToBeUnpacked) {
  const assay::testing::TemporaryFolder folder;
  write(folder.path() / "train-images-idx3-ubyte.gz", "\x1f\x8b");
  const Error error = error_of([&] { return open_image_set(options_for("mnist", folder.path())); });
  EXPECT_THAT(error.advice(), HasSubstr("gunzip"));
  write(folder.path() / "train-images-idx3-ubyte", "\x1f\x8b rest");
  EXPECT_THAT(
      error_of([&] { return open_image_set(options_for("mnist", folder.path())); }).message(),
      HasSubstr("compressed"));
}

TEST(Mnist, HeadersThatCannotBeAreExplained) {
  const auto message = [](const std::string& file, std::size_t dimensions) {
    return error_of([&] { static_cast<void>(parse_idx(as_bytes_view(file), dimensions, "f")); })
        .message();
  };
  EXPECT_THAT(message("", 3), HasSubstr("too few"));
  EXPECT_THAT(message(idx({3}, "abc"), 3), HasSubstr("too few"));
  EXPECT_THAT(message(idx({3}, "abcdefghijklmn"), 3), HasSubstr("begins with 00000801"));
  EXPECT_THAT(message(idx({3}, "ab"), 1), HasSubstr("promises 3 bytes of data, there are 2"));
  EXPECT_THAT(message(idx({3}, "abcd"), 1), HasSubstr("there are 4"));
  EXPECT_THAT(message(idx({0, 5, 5}, ""), 3), HasSubstr("dimension 0 is 0"));
  EXPECT_THAT(message(idx({-1, -1, -1}, "x"), 3), HasSubstr("dimension 1 is 4294967295"));
}

TEST(Mnist, LabelsAndImagesMustBelongTogether) {
  const assay::testing::TemporaryFolder folder;
  write_mnist(folder.path());
  write(folder.path() / "train-labels-idx1-ubyte", idx({3}, "abc"));
  EXPECT_THAT(
      error_of([&] { return open_image_set(options_for("mnist", folder.path())); }).message(),
      HasSubstr("3 labels for 4 images"));
  write_mnist(folder.path());
  write(folder.path() / "t10k-labels-idx1-ubyte", idx({2}, std::string("\x01\x07", 2)));
  EXPECT_THAT(
      error_of([&] { return open_image_set(options_for("mnist", folder.path())); }).message(),
      HasSubstr("evaluation label is 7"));
}

}  // namespace
}  // namespace assay::train::data
