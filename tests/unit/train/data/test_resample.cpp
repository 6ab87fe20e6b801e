#include <cmath>

#include <gtest/gtest.h>

#include "core/files.h"
#include "needs.h"
#include "temporary_folder.h"
#include "train/data/random.h"
#include "train/data/resample.h"
#include "unit/train/data/helpers.h"

namespace assay::train::data {
namespace {

using testing::picture;

std::vector<std::uint8_t> resample(std::vector<std::uint8_t> pixels, std::int64_t width,
                                   std::int64_t height, const Box& box, std::int64_t out_width,
                                   std::int64_t out_height, bool mirror = false) {
  pixels.resize(pixels.size() + rgb_padding);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(out_width * out_height * 3));
  Resampler resampler;
  resampler.run({pixels.data(), width, height, width * 3}, box, out_width, out_height, mirror,
                out.data());
  return out;
}

// The definition: a triangle as wide as the reduction, in both directions at once, in doubles.
double plain(const std::vector<std::uint8_t>& pixels, std::int64_t width, std::int64_t height,
             const Box& box, std::int64_t out_width, std::int64_t out_height, std::int64_t x,
             std::int64_t y, int c) {
  const double scale_x = (box.right - box.left) / static_cast<double>(out_width);
  const double scale_y = (box.bottom - box.top) / static_cast<double>(out_height);
  const double centre_x = box.left + (static_cast<double>(x) + 0.5) * scale_x;
  const double centre_y = box.top + (static_cast<double>(y) + 0.5) * scale_y;
  double sum = 0;
  double total = 0;
  for (std::int64_t v = 0; v < height; ++v)
    for (std::int64_t u = 0; u < width; ++u) {
      const double du = std::abs(static_cast<double>(u) + 0.5 - centre_x) / std::max(scale_x, 1.0);
      const double dv = std::abs(static_cast<double>(v) + 0.5 - centre_y) / std::max(scale_y, 1.0);
      if (du >= 1 || dv >= 1) continue;
      sum += (1 - du) * (1 - dv) * pixels[(v * width + u) * 3 + c];
      total += (1 - du) * (1 - dv);
    }
  return sum / total;
}

TEST(Resample, IsTheTriangleFilter) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t width = 1 + random.below(50);
    const std::int64_t height = 1 + random.below(50);
    const std::vector<std::uint8_t> pixels = picture(width, height, random.bits());
    const auto w = static_cast<double>(width);
    const auto h = static_cast<double>(height);
    const Box box{random.uniform(0, w * 0.4), random.uniform(0, h * 0.4),
                  random.uniform(w * 0.6, w), random.uniform(h * 0.6, h)};
    const std::int64_t out_width = 1 + random.below(30);
    const std::int64_t out_height = 1 + random.below(30);
    const std::vector<std::uint8_t> out =
        resample(pixels, width, height, box, out_width, out_height);
    const std::vector<std::uint8_t> mirrored =
        resample(pixels, width, height, box, out_width, out_height, true);
    for (std::int64_t y = 0; y < out_height; ++y)
      for (std::int64_t x = 0; x < out_width; ++x)
        for (int c = 0; c < 3; ++c) {
          // Two roundings to bytes.
          ASSERT_NEAR(out[(y * out_width + x) * 3 + c],
                      plain(pixels, width, height, box, out_width, out_height, x, y, c), 1.1);
          ASSERT_EQ(out[(y * out_width + x) * 3 + c],
                    mirrored[(y * out_width + out_width - 1 - x) * 3 + c]);
        }
  }
}

TEST(Resample, ConstantImagesStayConstant) {
  for (const int value : {0, 1, 128, 254, 255}) {
    const std::vector<std::uint8_t> pixels(37 * 53 * 3, static_cast<std::uint8_t>(value));
    for (const std::uint8_t p : resample(pixels, 37, 53, {0, 0, 37, 53}, 8, 90))
      ASSERT_EQ(p, value);
  }
}

TEST(Resample, TheSameSizeIsACopy) {
  const std::vector<std::uint8_t> pixels = picture(33, 21, 4);
  EXPECT_EQ(resample(pixels, 33, 21, {0, 0, 33, 21}, 33, 21), pixels);
}

TEST(Resample, IsPillowsWithinOne) {
  if (!testing::have_pillow()) GTEST_SKIP() << needs::package("python3-pil");
  const assay::testing::TemporaryFolder folder;
  struct Case {
    std::int64_t width, height;
    Box box;
    std::int64_t out_width, out_height;
  };
  const std::vector<Case> cases{{500, 375, {0, 0, 500, 375}, 224, 224},
                                {500, 375, {10.5, 20.25, 400.75, 300}, 224, 224},
                                {64, 64, {3, 5, 40, 41}, 224, 224},
                                {1000, 30, {0, 0, 1000, 30}, 17, 96}};
  const std::string script =
      "import sys\n"
      "from PIL import Image\n"
      "w, h, ow, oh = map(int, sys.argv[2:6])\n"
      "box = tuple(map(float, sys.argv[6:10]))\n"
      "im = Image.frombytes('RGB', (w, h), open(sys.argv[1], 'rb').read())\n"
      "open(sys.argv[1] + '.out', 'wb').write(\n"
      "    im.resize((ow, oh), Image.Resampling.BILINEAR, box).tobytes())\n";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const std::vector<std::uint8_t> pixels = picture(c.width, c.height, i);
    const std::string path = (folder.path() / std::to_string(i)).string();
    testing::write(path, std::string(pixels.begin(), pixels.end()));
    std::vector<std::string> arguments{path};
    for (const std::int64_t n : {c.width, c.height, c.out_width, c.out_height})
      arguments.push_back(std::to_string(n));
    for (const double n : {c.box.left, c.box.top, c.box.right, c.box.bottom})
      arguments.push_back(std::to_string(n));
    testing::run_python(script, arguments);
    const std::string expected = read_file(path + ".out");
    const std::vector<std::uint8_t> out =
        resample(pixels, c.width, c.height, c.box, c.out_width, c.out_height);
    ASSERT_EQ(out.size(), expected.size());
    std::int64_t different = 0;
    for (std::size_t p = 0; p < out.size(); ++p) {
      ASSERT_NEAR(out[p], static_cast<std::uint8_t>(expected[p]), 1) << i << " " << p;
      different += out[p] != static_cast<std::uint8_t>(expected[p]) ? 1 : 0;
    }
    EXPECT_LT(different, static_cast<std::int64_t>(out.size()) / 20) << i;
  }
}

}  // namespace
}  // namespace assay::train::data
