#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/files.h"
#include "needs.h"
#include "temporary_folder.h"
#include "train/data/image_set.h"
#include "train/data/jpeg.h"
#include "train/data/jpeg_sample.h"
#include "train/data/loader.h"
#include "train/data/set_files.h"
#include "unit/train/data/helpers.h"

namespace assay::train::data {
namespace {

using ::testing::AllOf;
using testing::encode_jpeg;
using testing::error_of;
using ::testing::HasSubstr;
using testing::JpegStyle;
using testing::picture;
using testing::write;

double mean_difference(const RgbView& view, const std::vector<std::uint8_t>& pixels,
                       std::int64_t width, std::int64_t left, std::int64_t top) {
  double sum = 0;
  for (std::int64_t y = 0; y < view.height; ++y)
    for (std::int64_t x = 0; x < view.width * 3; ++x)
      sum +=
          std::abs(view.pixels[y * view.stride + x] - pixels[((top + y) * width + left) * 3 + x]);
  return sum / static_cast<double>(view.width * view.height * 3);
}

TEST(Jpeg, DecodesWhatWasEncoded) {
  const std::vector<std::uint8_t> pixels = picture(150, 90, 3);
  JpegDecoder decoder;
  for (const bool progressive : {false, true}) {
    const std::string file = encode_jpeg(pixels, 150, 90, {95, 3, progressive, false});
    ASSERT_TRUE(decoder.open(as_bytes_view(file))) << decoder.error();
    EXPECT_EQ(decoder.width(), 150);
    EXPECT_EQ(decoder.height(), 90);
    ASSERT_TRUE(decoder.decode({0, 0, 150, 90}, 1)) << decoder.error();
    EXPECT_LT(mean_difference(decoder.image(), pixels, 150, 0, 0), 5);
  }
}

TEST(Jpeg, DecodesAPartAndSaysWhereItIs) {
  const std::vector<std::uint8_t> pixels = picture(333, 222, 3);
  const std::string file = encode_jpeg(pixels, 333, 222, {95, 3, false, false});
  JpegDecoder decoder;
  ASSERT_TRUE(decoder.open(as_bytes_view(file)) && decoder.decode({0, 0, 333, 222}, 1));
  const std::vector<std::uint8_t> whole(decoder.image().pixels,
                                        decoder.image().pixels + 333 * 222 * 3);
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    const PixelRect part = random_resized_crop(random, 333, 222);
    ASSERT_TRUE(decoder.open(as_bytes_view(file)));
    ASSERT_TRUE(decoder.decode(part, 1)) << decoder.error();
    const RgbView view = decoder.image();
    const Box box = decoder.map({static_cast<double>(part.left), static_cast<double>(part.top),
                                 static_cast<double>(part.left + part.width),
                                 static_cast<double>(part.top + part.height)});
    EXPECT_EQ(box.right - box.left, static_cast<double>(part.width));
    EXPECT_EQ(box.bottom - box.top, static_cast<double>(part.height));
    EXPECT_EQ(mean_difference(view, whole, 333, part.left - std::lround(box.left),
                              part.top - std::lround(box.top)),
              0);
  }
}

TEST(Jpeg, DecodesToTheSmallestScaleThatIsLargeEnough) {
  const std::string file = encode_jpeg(picture(801, 600, 1), 801, 600);
  JpegDecoder decoder;
  for (const auto& [least, width] :
       {std::pair{0.05, 101}, {0.125, 101}, {0.13, 201}, {0.5, 401}, {0.51, 801}, {3.0, 801}}) {
    ASSERT_TRUE(decoder.open(as_bytes_view(file)));
    ASSERT_TRUE(decoder.decode({0, 0, 801, 600}, least));
    EXPECT_EQ(decoder.image().width, width);
  }
}

TEST(Jpeg, GreyAndCmykBecomeRgb) {
  JpegDecoder decoder;
  std::vector<std::uint8_t> grey(64 * 64);
  for (std::size_t i = 0; i < grey.size(); ++i) grey[i] = static_cast<std::uint8_t>(i / 64 * 3);
  const std::string grey_file = encode_jpeg(grey, 64, 64, {98, 1});
  ASSERT_TRUE(decoder.open(as_bytes_view(grey_file)));
  ASSERT_TRUE(decoder.decode({0, 0, 64, 64}, 1)) << decoder.error();
  for (std::size_t i = 0; i < grey.size(); ++i)
    for (int c = 0; c < 3; ++c) ASSERT_NEAR(decoder.image().pixels[3 * i + c], grey[i], 4);

  // Inverted: 255 is no ink. Red without black: cyan none, magenta and yellow full.
  std::vector<std::uint8_t> inks;
  for (int i = 0; i < 64 * 64; ++i) inks.insert(inks.end(), {255, 0, 0, 200});
  const std::string cmyk_file = encode_jpeg(inks, 64, 64, {98, 4});
  ASSERT_TRUE(decoder.open(as_bytes_view(cmyk_file)));
  ASSERT_TRUE(decoder.decode({5, 5, 50, 50}, 1)) << decoder.error();
  const std::uint8_t* pixel = decoder.image().pixels;
  EXPECT_NEAR(pixel[0], 200, 4);
  EXPECT_NEAR(pixel[1], 0, 4);
  EXPECT_NEAR(pixel[2], 0, 4);
}

TEST(Jpeg, DamagedFilesAreRefusedAndTheDecoderStaysUsable) {
  const std::vector<std::uint8_t> pixels = picture(200, 200, 6);
  const std::string good = encode_jpeg(pixels, 200, 200);
  JpegDecoder decoder;
  const auto decodes = [&](const std::string& file) {
    return decoder.open(as_bytes_view(file)) && decoder.decode({0, 0, 200, 200}, 1);
  };
  EXPECT_FALSE(decodes(""));
  EXPECT_FALSE(decodes("not a JPEG"));
  EXPECT_THAT(decoder.error(), HasSubstr("JPEG"));
  EXPECT_FALSE(decodes(good.substr(0, 100)));
  EXPECT_FALSE(decodes(good.substr(0, good.size() / 2)));
  EXPECT_THAT(decoder.error(), HasSubstr("remature end"));
  std::string holes = good;
  for (std::size_t i = good.size() / 2; i < good.size() / 2 + 200; ++i) holes[i] = '\xff';
  EXPECT_FALSE(decodes(holes));
  EXPECT_TRUE(decodes(good)) << decoder.error();
  EXPECT_LT(mean_difference(decoder.image(), pixels, 200, 0, 0), 12);
}

TEST(Jpeg, NoBytesCrashIt) {
  JpegSampler sampler;
  std::vector<std::uint8_t> out(32 * 32 * 3);
  Random random(3);
  for (const bool progressive : {false, true}) {
    const std::string good = encode_jpeg(picture(60, 40, 6), 60, 40, {90, 3, progressive, true});
    for (int round = 0; round < 1500; ++round) {
      std::string file = good;
      for (int hit = 0; hit < 3; ++hit)
        file[random.below(static_cast<std::int64_t>(file.size()))] =
            static_cast<char>(random.bits());
      static_cast<void>(sampler.make(as_bytes_view(file), 32, &random, out.data()));
    }
  }
}

TEST(Crop, RandomPartsHaveTheStatedAreaAndShape) {
  Random random(11);
  double area = 0;
  for (int i = 0; i < 5000; ++i) {
    const PixelRect part = random_resized_crop(random, 400, 300);
    ASSERT_GE(part.left, 0);
    ASSERT_GE(part.top, 0);
    ASSERT_LE(part.left + part.width, 400);
    ASSERT_LE(part.top + part.height, 300);
    const double share = static_cast<double>(part.width * part.height) / 120000;
    const double aspect = static_cast<double>(part.width) / static_cast<double>(part.height);
    ASSERT_GT(share, 0.078);
    ASSERT_GT(aspect, 0.74);
    ASSERT_LT(aspect, 1.35);
    area += share / 5000;
  }
  // The mean over all draws that fit, by summing over a grid.
  double sum = 0;
  double fitting = 0;
  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < 1000; ++j) {
      const double share = 0.08 + 0.92 * (i + 0.5) / 1000;
      const double aspect = std::pow(16.0 / 9.0, (j + 0.5) / 1000) * 0.75;
      if (share * 120000 * aspect > 400 * 400 || share * 120000 / aspect > 300 * 300) continue;
      sum += share;
      ++fitting;
    }
  EXPECT_NEAR(area, sum / fitting, 0.02);
  const PixelRect strip = random_resized_crop(random, 1000, 10);
  EXPECT_LE(strip.height, 10);
  EXPECT_LE(strip.width, 14);
  EXPECT_EQ(random_resized_crop(random, 1, 1).width, 1);
}

TEST(Crop, TheCentreIsThatOfResizingTo256AndCutting224) {
  const Box box = centre_crop(512, 256, 224);
  EXPECT_DOUBLE_EQ(box.left, 144);
  EXPECT_DOUBLE_EQ(box.top, 16);
  EXPECT_DOUBLE_EQ(box.right, 368);
  EXPECT_DOUBLE_EQ(box.bottom, 240);
}

TEST(JpegSample, EvaluationIsTorchvisionsResizeAndCentreCrop) {
  if (!testing::have_pillow()) GTEST_SKIP() << needs::package("python3-pil");
  const assay::testing::TemporaryFolder folder;
  const std::string script =
      "import sys\n"
      "from PIL import Image\n"
      "im = Image.open(sys.argv[1]).convert('RGB')\n"
      "w, h = im.size\n"
      "size = 224; short = 256\n"
      "ow, oh = (short, int(short * h / w)) if w <= h else (int(short * w / h), short)\n"
      "im = im.resize((ow, oh), Image.Resampling.BILINEAR)\n"
      "left = int(round((ow - size) / 2.0)); top = int(round((oh - size) / 2.0))\n"
      "open(sys.argv[1] + '.out', 'wb').write(\n"
      "    im.crop((left, top, left + size, top + size)).tobytes())\n";
  JpegSampler sampler;
  const std::vector<std::pair<int, int>> sizes{{500, 375}, {375, 501}, {300, 300}, {200, 333}};
  const std::vector<int> channels{3, 3, 1, 4};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto [width, height] = sizes[i];
    std::vector<std::uint8_t> pixels = picture(width, height, i);
    if (channels[i] == 1) pixels.resize(pixels.size() / 3);
    if (channels[i] == 4) pixels = picture(width, height * 2, i);  // any bytes are inks
    const std::string file = encode_jpeg(pixels, width, height, {90, channels[i], i == 1, true});
    const std::string path = (folder.path() / std::to_string(i)).string();
    write(path, file);
    testing::run_python(script, {path});
    const std::string expected = read_file(path + ".out");
    std::vector<std::uint8_t> out(224 * 224 * 3);
    ASSERT_TRUE(sampler.make(as_bytes_view(file), 224, nullptr, out.data())) << sampler.error();
    ASSERT_EQ(out.size(), expected.size());
    for (std::size_t p = 0; p < out.size(); ++p)
      ASSERT_NEAR(out[p], static_cast<std::uint8_t>(expected[p]), 1) << i << " " << p;
  }
}

class FolderTest : public ::testing::Test {
 protected:
  void add(const std::string& name, std::uint64_t seed) {
    write(folder_.path() / name, encode_jpeg(picture(80, 60, seed), 80, 60));
  }
  void fill() {
    std::uint64_t seed = 0;
    for (const char* split : {"train", "val"})
      for (const char* label : {"cat", "ant", "bee"})
        for (int i = 0; i < 4; ++i)
          add(std::string(split) + "/" + label + "/" + std::to_string(i) + ".jpg", ++seed);
  }
  [[nodiscard]] ImageSetOptions options() const {
    ImageSetOptions options;
    options.set = "folder";
    options.path = folder_.path();
    options.image_size = 32;
    return options;
  }
  [[nodiscard]] Error open_error() const {
    return error_of([&] { return open_image_set(options()); });
  }
  assay::testing::TemporaryFolder folder_;
};

TEST_F(FolderTest, ClassesAreFoldersInTheOrderOfTheirNames) {
  fill();
  write(folder_.path() / "train/ant/notes.txt", "not an image");
  const ImageSet set = open_image_set(options());
  EXPECT_EQ(set.info.classes, 3);
  EXPECT_EQ(set.info.train_size, 12);
  ImageBatch batch(set.eval->shape(), 12, heap_allocator());
  const auto reader = set.eval->make_reader();
  JpegSampler sampler;
  std::vector<std::uint8_t> expected(32 * 32 * 3);
  for (std::int64_t i = 0; i < 12; ++i) {
    reader->read({i, 0, 0}, batch, i);
    EXPECT_EQ(batch.labels[i], i / 4);
  }
  const std::string bee1 = read_file(folder_.path() / "val/bee/1.jpg");
  ASSERT_TRUE(sampler.make(as_bytes_view(bee1), 32, nullptr, expected.data()));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch.image(5)));
}

TEST_F(FolderTest, TrainingSamplesChangeWithTheEpochAndComeBackForTheSameKey) {
  fill();
  const ImageSet set = open_image_set(options());
  const auto image = [&](std::int64_t epoch, std::uint64_t seed) {
    ImageBatch batch(set.train->shape(), 1, heap_allocator());
    set.train->make_reader()->read({3, epoch, seed}, batch, 0);
    return std::vector<std::uint8_t>(batch.pixels, batch.pixels + 32 * 32 * 3);
  };
  EXPECT_EQ(image(1, 5), image(1, 5));
  EXPECT_NE(image(1, 5), image(2, 5));
  EXPECT_NE(image(1, 5), image(1, 6));
}

TEST_F(FolderTest, ADamagedFileIsReplacedByTheNextGoodOneAndCounted) {
  fill();
  write(folder_.path() / "val/ant/3.jpg", "");
  write(folder_.path() / "val/bee/0.jpg", "garbage");
  ImageSetOptions two_bad = options();
  two_bad.max_damaged = 0.2;  // two of twelve
  const ImageSet set = open_image_set(two_bad);
  LoaderOptions loading;
  loading.pass = Pass::eval;
  loading.batch_size = 12;
  loading.threads = 3;
  ImageLoader loader(set.eval, loading);
  for (int pass = 0; pass < 3; ++pass) {
    const ImageLoan loan = loader.next();
    ASSERT_EQ(loan->size, 12);
    EXPECT_EQ(loan->labels[3], 1);  // bee/1 in place of ant/3 and bee/0
    EXPECT_TRUE(std::equal(loan->image(3), loan->image(4), loan->image(5)));
    EXPECT_TRUE(std::equal(loan->image(4), loan->image(5), loan->image(5)));
  }
  EXPECT_EQ(set.eval->damaged(), 2);  // each once, however often it is met
  EXPECT_EQ(set.train->damaged(), 0);
}

TEST_F(FolderTest, TooManyDamagedFilesAreAnErrorThatNamesThem) {
  fill();
  write(folder_.path() / "val/ant/3.jpg", "");
  write(folder_.path() / "val/cat/0.jpg", "garbage");
  const ImageSet set = open_image_set(options());  // one is allowed
  ImageBatch batch(set.eval->shape(), 1, heap_allocator());
  const auto reader = set.eval->make_reader();
  reader->read({3, 0, 0}, batch, 0);
  const Error error = error_of([&] { reader->read({8, 0, 0}, batch, 0); });
  EXPECT_EQ(error.kind(), ErrorKind::environment);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("2 of the 12 samples"), HasSubstr("val/ant/3.jpg"),
                                     HasSubstr("val/cat/0.jpg (Not a JPEG file")));
}

// Followed, it would give a class the images of all others, many times over.
TEST_F(FolderTest, ALinkToAFolderAboveItIsAnError) {
  for (const char* target : {"..", "."}) {
    fill();
    const std::filesystem::path link = folder_.path() / "train/bee/link";
    std::filesystem::create_directory_symlink(target, link);
    EXPECT_THAT(open_error().what(),
                HasSubstr("train/bee/link: the folder leads back to one above it"));
    std::filesystem::remove(link);
  }
  std::filesystem::create_directory_symlink("../ant", folder_.path() / "train/bee/more");
  EXPECT_EQ(open_image_set(options()).info.train_size, 16);
}

TEST_F(FolderTest, APipeIsAnErrorAndNotWaitedFor) {
  fill();
  ASSERT_EQ(::mkfifo((folder_.path() / "train/bee/pipe.jpg").c_str(), 0600), 0);
  EXPECT_THAT(open_error().what(), HasSubstr("pipe.jpg: this is not a regular file"));
}

TEST_F(FolderTest, FoldersThatDoNotFitAreExplained) {
  EXPECT_THAT(open_error().what(), HasSubstr("train: there is no such folder"));
  std::filesystem::create_directories(folder_.path() / "train");
  std::filesystem::create_directories(folder_.path() / "val");
  EXPECT_THAT(open_error().message(), HasSubstr("no class folders"));
  fill();
  std::filesystem::remove_all(folder_.path() / "val/bee");
  EXPECT_THAT(open_error().message(),
              AllOf(HasSubstr("2 classes here, but 3 for training"), HasSubstr("missing: bee")));
  std::filesystem::create_directories(folder_.path() / "val/bee");
  EXPECT_THAT(open_error().what(), HasSubstr("val/bee: there are no JPEG files"));
}

TEST_F(FolderTest, AnotherNumberOfClassesThanAskedForIsAnError) {
  fill();
  ImageSetOptions wrong = options();
  wrong.classes = 4;
  const Error error = error_of([&] { return open_image_set(wrong); });
  EXPECT_EQ(error.kind(), ErrorKind::config);
  EXPECT_THAT(error.message(), HasSubstr("3 classes, but 4"));
}

TEST_F(FolderTest, AFileThatGoesAwayIsAnErrorThatNamesIt) {
  fill();
  const ImageSet set = open_image_set(options());
  std::filesystem::remove(folder_.path() / "train/ant/0.jpg");
  ImageBatch batch(set.train->shape(), 1, heap_allocator());
  const auto reader = set.train->make_reader();
  EXPECT_THAT(error_of([&] {
                reader->read({0, 0, 0}, batch, 0);
              }).where(),
              HasSubstr("train/ant/0.jpg"));
}

}  // namespace
}  // namespace assay::train::data
