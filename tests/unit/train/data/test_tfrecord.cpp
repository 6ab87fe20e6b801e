#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/crc32c.h"
#include "temporary_folder.h"
#include "train/data/image_set.h"
#include "train/data/jpeg_sample.h"
#include "train/data/random.h"
#include "train/data/set_files.h"
#include "train/data/tf_example.h"
#include "train/data/tfrecord.h"
#include "unit/train/data/helpers.h"
#include "unit/train/data/tfrecord_writer.h"

namespace assay::train::data {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using testing::encode_jpeg;
using testing::error_of;
using ::testing::HasSubstr;
using testing::picture;
using testing::write;
using namespace testing::tfrecord;

TEST(Crc32c, IsTheStandards) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(as_bytes_view(std::string(32, '\0'))), 0x8A9136AAU);
  EXPECT_EQ(crc32c(as_bytes_view(std::string(32, '\xff'))), 0x62A8AB43U);
  EXPECT_EQ(crc32c(as_bytes_view("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, TablesAndInstructionsAgreeForAllLengths) {
  Random random(1);
  std::string text;
  for (int size = 0; size < 300; ++size) {
    ASSERT_EQ(crc32c(as_bytes_view(text)), slow_crc(text));
    ASSERT_EQ(crc32c_portable(as_bytes_view(text)), slow_crc(text));
    text += static_cast<char>(random.bits());
  }
}

TEST(TfExample, FindsImageAndLabel) {
  ImageExample parsed;
  std::string error;
  const std::string data = example("JPEG", 17);
  ASSERT_TRUE(parse_image_example(as_bytes_view(data), parsed, error)) << error;
  EXPECT_EQ(std::string(parsed.encoded.begin(), parsed.encoded.end()), "JPEG");
  EXPECT_EQ(parsed.label, 17);
}

TEST(TfExample, TakesUnpackedAndNegativeIntegersAndUnknownFields) {
  ImageExample parsed;
  std::string error;
  const std::string extra = varint(9 << 3 | 0) + varint(77) + varint(10 << 3 | 1) +
                            std::string(8, 'x') + varint(11 << 3 | 5) + std::string(4, 'y') +
                            message(12, "zz");
  const std::string data =
      extra + message(1, extra + entry("image/class/label", integer_feature(-3, false))) + extra;
  ASSERT_TRUE(parse_image_example(as_bytes_view(data), parsed, error)) << error;
  EXPECT_EQ(parsed.label, -3);
  EXPECT_TRUE(parsed.encoded.empty());
}

TEST(TfExample, FeaturesOfTheWrongTypeAreRefused) {
  ImageExample parsed;
  std::string error;
  const std::string data = message(1, entry("image/class/label", bytes_feature("seven")));
  EXPECT_FALSE(parse_image_example(as_bytes_view(data), parsed, error));
  EXPECT_THAT(error, HasSubstr("not a list of int64"));
}

TEST(TfExample, EveryTruncationIsRefusedOrHarmless) {
  const std::string data = example(std::string(300, 'j'), 1000);
  ImageExample parsed;
  std::string error;
  for (std::size_t size = 1; size < data.size(); ++size) {
    const std::string part = data.substr(0, size);
    EXPECT_FALSE(parse_image_example(as_bytes_view(part), parsed, error)) << size;
  }
}

TEST(TfExample, NoBytesCrashIt) {
  Random random(2);
  const std::string good = example("JPEG", 17);
  ImageExample parsed;
  std::string error;
  for (int round = 0; round < 20000; ++round) {
    std::string data = good;
    for (int hit = 0; hit < 2; ++hit)
      data[random.below(static_cast<std::int64_t>(data.size()))] = static_cast<char>(random.bits());
    if (!parse_image_example(as_bytes_view(data), parsed, error)) continue;
    if (!parsed.encoded.empty()) {
      const auto* begin = reinterpret_cast<const char*>(parsed.encoded.data());
      ASSERT_GE(begin, data.data());
      ASSERT_LE(begin + parsed.encoded.size(), data.data() + data.size());
    }
  }
}

class TfRecordTest : public ::testing::Test {
 protected:
  void fill() {
    for (int file = 0; file < 2; ++file) {
      std::string train;
      for (int i = 0; i < 3; ++i) train += record(example(jpeg(file * 3 + i), 1 + i));
      write(folder_.path() / ("train-0000" + std::to_string(file) + "-of-00002"), train);
    }
    write(folder_.path() / "validation-00000-of-00001",
          record(example(jpeg(100), 3)) + record(example(jpeg(101), 1)));
  }
  static std::string jpeg(std::uint64_t seed) { return encode_jpeg(picture(60, 50, seed), 60, 50); }
  [[nodiscard]] ImageSetOptions options() const {
    ImageSetOptions options;
    options.set = "tfrecord";
    options.path = folder_.path();
    options.image_size = 32;
    options.classes = 3;
    return options;
  }
  assay::testing::TemporaryFolder folder_;
};

TEST_F(TfRecordTest, ReadsAllRecordsOfAllFiles) {
  fill();
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  ImageSetOptions with_progress = options();
  with_progress.progress = [&](std::int64_t done, std::int64_t total) {
    steps.emplace_back(done, total);
  };
  const ImageSet set = open_image_set(with_progress);
  EXPECT_EQ(set.info.train_size, 6);
  EXPECT_EQ(set.info.eval_size, 2);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps.back().first, steps.back().second);
  ImageBatch batch(set.train->shape(), 6, heap_allocator());
  const auto train = set.train->make_reader();
  for (std::int64_t i = 0; i < 6; ++i) {
    train->read({i, 0, 0}, batch, i);
    EXPECT_EQ(batch.labels[i], i % 3);  // counted from 1 in the files
  }
  set.eval->make_reader()->read({1, 0, 0}, batch, 0);
  JpegSampler sampler;
  std::vector<std::uint8_t> expected(32 * 32 * 3);
  const std::string file = jpeg(101);
  ASSERT_TRUE(sampler.make(as_bytes_view(file), 32, nullptr, expected.data()));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch.image(0)));
}

TEST_F(TfRecordTest, FindsTheFoldersOfAIPerf) {
  std::filesystem::create_directories(folder_.path() / "train_tfrecord");
  std::filesystem::create_directories(folder_.path() / "validation_tfrecord");
  write(folder_.path() / "train_tfrecord/train-00000-of-00001",
        record(example(jpeg(1), 1)) + record(example(jpeg(2), 2)));
  write(folder_.path() / "validation_tfrecord/validation-00000-of-00001",
        record(example(jpeg(3), 3)));
  const ImageSet set = open_image_set(options());
  EXPECT_EQ(set.info.train_size, 2);
  EXPECT_EQ(set.info.eval_size, 1);
}

TEST_F(TfRecordTest, ARecordWithAWrongChecksumCountsAsDamaged) {
  fill();
  std::string file = record(example(jpeg(1), 1));
  file[200] ^= 1;
  write(folder_.path() / "validation-00000-of-00001", file + record(example(jpeg(2), 2)));
  const ImageSet set = open_image_set(options());
  ImageBatch batch(set.eval->shape(), 1, heap_allocator());
  set.eval->make_reader()->read({0, 0, 0}, batch, 0);
  EXPECT_EQ(batch.labels[0], 1);  // of the next record
  EXPECT_EQ(set.eval->damaged(), 1);
}

TEST_F(TfRecordTest, ALabelOutsideTheClassesIsNamedWithItsRecord) {
  fill();
  for (const std::int64_t label : {std::int64_t{0}, std::int64_t{4}, INT64_MIN, INT64_MAX}) {
    write(folder_.path() / "validation-00000-of-00001", record(example(jpeg(1), label)));
    const ImageSet set = open_image_set(options());
    ImageBatch batch(set.eval->shape(), 1, heap_allocator());
    const auto reader = set.eval->make_reader();
    const Error error = error_of([&] { reader->read({0, 0, 0}, batch, 0); });
    EXPECT_THAT(error.message(), HasSubstr("the label " + std::to_string(label) + " is not one"));
    EXPECT_THAT(error.where(), HasSubstr("validation-00000-of-00001:record 0"));
  }
}

TEST_F(TfRecordTest, RecordsWithoutImagesAreAnError) {
  fill();
  write(folder_.path() / "validation-00000-of-00001",
        record(message(1, entry("image/class/label", integer_feature(1)))));
  const ImageSet set = open_image_set(options());
  ImageBatch batch(set.eval->shape(), 1, heap_allocator());
  const auto reader = set.eval->make_reader();
  EXPECT_THAT(error_of([&] {
                reader->read({0, 0, 0}, batch, 0);
              }).message(),
              HasSubstr("no image/encoded"));
}

TEST_F(TfRecordTest, FilesThatAreCutOffOrNoTfRecordsAreNamedWithTheByte) {
  const std::string good = record("first") + record("second");
  const std::string path = (folder_.path() / "f").string();
  const auto message_of = [&](const std::string& content) {
    write(path, content);
    const Error error = error_of([&] { static_cast<void>(index_tfrecord(path)); });
    EXPECT_EQ(error.where(), path);
    return error.message();
  };
  const std::size_t first = record("first").size();
  EXPECT_THAT(message_of(good.substr(0, first + 5)),
              AllOf(HasSubstr("at byte 21 of 26"), HasSubstr("within a record's header")));
  EXPECT_THAT(message_of(good.substr(0, good.size() - 1)), HasSubstr("beyond the end"));
  EXPECT_THAT(message_of(std::string(64, 'x')), HasSubstr("checksum of a record's length"));
  const std::string huge = raw<std::uint64_t>(UINT64_MAX);
  EXPECT_THAT(message_of(huge + masked_crc(huge) + "data"), HasSubstr("beyond the end"));
  write(path, good);
  EXPECT_EQ(index_tfrecord(path).size(), 2U);
}

TEST_F(TfRecordTest, AFolderWithoutRecordsIsAnError) {
  EXPECT_THAT(error_of([&] { return open_image_set(options()); }).message(),
              HasSubstr("no files that begin with train"));
  fill();
  for (int file = 0; file < 2; ++file)
    write(folder_.path() / ("train-0000" + std::to_string(file) + "-of-00002"), "");
  EXPECT_THAT(error_of([&] { return open_image_set(options()); }).message(),
              HasSubstr("no records"));
}

}  // namespace
}  // namespace assay::train::data
