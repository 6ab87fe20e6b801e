#include "train/data/glyphs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "core/error.h"
#include "train/data/random.h"
#include "train/data/statistics.h"

namespace assay::train::data {

namespace {

constexpr std::int64_t glyph_side = 32;  // of a shape; images may be larger
constexpr std::int64_t glyph_shapes = 10;
constexpr std::int64_t most_classes = 1000;
constexpr std::int64_t glyph_train_size = 8192;
constexpr std::int64_t glyph_eval_size = 2000;

struct Point {
  float x = 0;
  float y = 0;
};

// Signed distances to shapes of about unit radius, negative inside. Exact near the edge, as drawing
// requires.
float disc(Point p, float radius) {
  return std::sqrt(p.x * p.x + p.y * p.y) - radius;
}
float box(Point p, float half_width, float half_height) {
  return std::max(std::abs(p.x) - half_width, std::abs(p.y) - half_height);
}
float triangle(Point p) {
  constexpr float half = 0.5F;
  constexpr float sine = 0.8660254F;
  return std::max(p.y - half, std::max(sine * p.x, -sine * p.x) - half * p.y - half);
}

float shape(std::int64_t glyph, Point p) {
  switch (glyph) {
    case 0:
      return disc(p, 0.85F);
    case 1:
      return std::abs(disc(p, 0.72F)) - 0.2F;
    case 2:
      return box(p, 0.75F, 0.75F);
    case 3:
      return std::abs(box(p, 0.7F, 0.7F)) - 0.17F;
    case 4:
      return triangle(p);
    case 5:
      return std::min(box(p, 0.95F, 0.25F), box(p, 0.25F, 0.95F));
    case 6:
      return std::max(disc({p.x, p.y - 0.4F}, 0.95F), p.y - 0.4F);
    case 7:
      return box({p.x, std::abs(p.y) - 0.55F}, 0.9F, 0.25F);
    case 8:
      return std::min(box({p.x, p.y + 0.65F}, 0.9F, 0.25F), box(p, 0.25F, 0.9F));
    default:
      return std::min(box({p.x + 0.55F, p.y}, 0.25F, 0.9F), box({p.x, p.y - 0.65F}, 0.8F, 0.25F));
  }
}

float luminance(const float (&color)[3]) {
  return 0.299F * color[0] + 0.587F * color[1] + 0.114F * color[2];
}

// The number of digits for numbers below `classes`, which are written with the shapes.
std::int64_t digits_for(std::int64_t classes) {
  return classes <= 10 ? 1 : classes <= 100 ? 2 : 3;
}

struct Digit {
  std::int64_t shape = 0;
  float x = 0;  // the center
  float y = 0;
};

// An image of `side` pixels with the `count` digits of `number`.
void draw(std::int64_t number, std::int64_t count, std::int64_t side, Random random,
          std::uint8_t* out) {
  float ground[3];
  float ink[3];
  do {  // until they are distinguishable
    for (float& c : ground) c = static_cast<float>(random.uniform(10, 245));
    for (float& c : ink) c = static_cast<float>(random.uniform(10, 245));
  } while (std::abs(luminance(ground) - luminance(ink)) < 70);
  // A digit has its own cell and is as large in it as a single one is in its image.
  const float cell = static_cast<float>(side) / static_cast<float>(count);
  const float radius = static_cast<float>(random.uniform(9, 12)) * (cell / glyph_side);
  const float reach = 0.5F * cell - radius;
  Digit digits[3];
  for (std::int64_t i = count - 1; i >= 0; --i, number /= glyph_shapes) {
    Digit& digit = digits[i];
    digit.shape = number % glyph_shapes;
    digit.x =
        (static_cast<float>(i) + 0.5F) * cell + static_cast<float>(random.uniform(-reach, reach));
    digit.y = 0.5F * static_cast<float>(side) + static_cast<float>(random.uniform(-reach, reach));
  }
  const double angle = random.uniform(-0.3, 0.3);
  const auto sine = static_cast<float>(std::sin(angle));
  const auto cosine = static_cast<float>(std::cos(angle));
  const auto noise = static_cast<float>(random.uniform(4, 12) / 104.5);  // 104.5: see below

  std::uint64_t bits = 0;
  int left = 0;
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x, out += 3) {
      const Digit& digit = digits[x * count / side];
      const float dx = (static_cast<float>(x) + 0.5F - digit.x) / radius;
      const float dy = (static_cast<float>(y) + 0.5F - digit.y) / radius;
      const Point turned{cosine * dx + sine * dy, cosine * dy - sine * dx};
      const float cover = std::clamp(0.5F - radius * shape(digit.shape, turned), 0.0F, 1.0F);
      for (int c = 0; c < 3; ++c) {
        if (left == 0) {
          bits = random.bits();
          left = 4;
        }
        // The sum of two bytes: a triangle of standard deviation 104.5, close enough to a bell.
        const auto low = static_cast<int>(bits & 0xFF);
        const auto high = static_cast<int>((bits >> 8) & 0xFF);
        const auto grain = static_cast<float>(low + high - 255);
        bits >>= 16;
        --left;
        const float value = ground[c] + cover * (ink[c] - ground[c]) + noise * grain;
        out[c] = static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
      }
    }
  }
}

class Glyphs final : public ImageSource {
 public:
  Glyphs(const ImageSetOptions& options, bool train, std::int64_t size)
      : seed_(Random(options.seed, 0x611F5u, train).bits()),
        classes_(options.classes == 0 ? glyph_shapes : options.classes),
        side_(options.glyph_size),
        size_(size),
        wrong_(std::llround(options.label_noise * static_cast<double>(size))),
        class_order_(size, Random(seed_, 1).bits()),
        noise_order_(size, Random(seed_, 2).bits()) {}

  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  [[nodiscard]] ImageBatch::Shape shape() const noexcept override { return {side_, side_, 3}; }
  [[nodiscard]] std::unique_ptr<Reader<ImageBatch>> make_reader() const override;
  [[nodiscard]] std::int64_t wrong() const noexcept { return wrong_; }
  [[nodiscard]] std::int64_t classes() const noexcept { return classes_; }

  [[nodiscard]] std::int64_t glyph(std::int64_t index) const noexcept {
    return class_order_(index) % classes_;
  }
  [[nodiscard]] std::int64_t label(std::int64_t index) const noexcept {
    const std::int64_t truth = glyph(index);
    if (noise_order_(index) >= wrong_) return truth;
    return (truth + 1 + Random(seed_, 3, index).below(classes_ - 1)) % classes_;
  }
  void draw_sample(std::int64_t index, std::uint8_t* out) const {
    draw(glyph(index), digits_for(classes_), side_, Random(seed_, 4, index), out);
  }

 private:
  std::uint64_t seed_;
  std::int64_t classes_;
  std::int64_t side_;
  std::int64_t size_;
  std::int64_t wrong_;
  Permutation class_order_;
  Permutation noise_order_;
};

class GlyphReader final : public Reader<ImageBatch> {
 public:
  explicit GlyphReader(const Glyphs& glyphs) : glyphs_(glyphs) {}
  void read(const SampleKey& key, ImageBatch& batch, std::int64_t row) override {
    glyphs_.draw_sample(key.index, batch.image(row));
    batch.labels[row] = glyphs_.label(key.index);
  }

 private:
  const Glyphs& glyphs_;
};

std::unique_ptr<Reader<ImageBatch>> Glyphs::make_reader() const {
  return std::make_unique<GlyphReader>(*this);
}

std::int64_t glyph_set_size(std::int64_t asked, std::int64_t fallback, const char* what) {
  if (asked < 0 || asked > 1'000'000'000)
    throw Error(ErrorKind::config, fmt::format("{} {} images", asked, what), "data set glyphs",
                "use 1 to 1,000,000,000, or 0 for the default");
  return asked == 0 ? fallback : asked;
}

std::shared_ptr<const Glyphs> make(const ImageSetOptions& options, bool train) {
  if (!(options.label_noise >= 0 && options.label_noise <= 0.5))
    throw Error(ErrorKind::config, fmt::format("a label noise of {}", options.label_noise),
                "data set glyphs", "use 0 to 0.5");
  if (options.classes != 0 && (options.classes < 2 || options.classes > most_classes))
    throw Error(ErrorKind::config, fmt::format("{} classes", options.classes), "data set glyphs",
                fmt::format("use 2 to {}, or 0 for {}", most_classes, glyph_shapes));
  const std::int64_t least = glyph_side * digits_for(options.classes);
  if (options.glyph_size < least || options.glyph_size > 4096 ||
      options.glyph_size % glyph_side != 0)
    throw Error(ErrorKind::config, fmt::format("a glyph_size of {}", options.glyph_size),
                "data set glyphs",
                fmt::format("use a multiple of {} from {} to 4096", glyph_side, least));
  const std::int64_t size = train
                                ? glyph_set_size(options.train_size, glyph_train_size, "training")
                                : glyph_set_size(options.eval_size, glyph_eval_size, "evaluation");
  return std::make_shared<const Glyphs>(options, train, size);
}

}  // namespace

ImageSet open_glyphs(const ImageSetOptions& options) {
  const std::shared_ptr<const Glyphs> train = make(options, true);
  const std::shared_ptr<const Glyphs> eval = make(options, false);
  ImageSet set;
  const ImageBatch::Shape shape = train->shape();
  set.info = {"glyphs", train->classes(), shape.height, shape.width, 3, {},
              {},       train->size(),    eval->size(), {}};
  measure_channels(*train, 1024, set.info.mean, set.info.std);
  const double best = 1 - static_cast<double>(eval->wrong()) / static_cast<double>(eval->size());
  set.info.best_accuracy =
      BestAccuracy{best, fmt::format("{} of the {} evaluation labels are wrong at random",
                                     eval->wrong(), eval->size())};
  set.train = train;
  set.eval = eval;
  return set;
}

}  // namespace assay::train::data
