#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "train/data/glyphs.h"
#include "train/data/grammar.h"
#include "train/data/loader.h"
#include "train/data/masking.h"
#include "unit/train/data/helpers.h"

namespace assay::train::data {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

template <class Batch>
Batch read_all(const Source<Batch>& source, const SampleKey& key = {}) {
  Batch batch(source.shape(), source.size(), heap_allocator());
  const auto reader = source.make_reader();
  for (std::int64_t i = 0; i < source.size(); ++i) reader->read({i, key.epoch, key.seed}, batch, i);
  batch.size = source.size();
  return batch;
}

/// What the images show: the labels of the same set without noise.
ImageSet without_noise(ImageSetOptions options) {
  options.label_noise = 0;
  return open_image_set(options);
}

TEST(Glyphs, ExactlyTheStatedShareOfLabelsIsWrong) {
  ImageSetOptions options;
  options.eval_size = 1999;
  options.label_noise = 0.1;
  const ImageSet set = open_image_set(options);
  const ImageBatch batch = read_all(*set.eval);
  const ImageBatch shown = read_all(*without_noise(options).eval);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < batch.size; ++i) right += batch.labels[i] == shown.labels[i] ? 1 : 0;
  EXPECT_EQ(right, 1799);  // 1999 - 200
  ASSERT_TRUE(set.info.best_accuracy);
  EXPECT_DOUBLE_EQ(set.info.best_accuracy->value, 1799.0 / 1999.0);
}

TEST(Glyphs, WrongLabelsAreSpreadOverAllOtherClasses) {
  ImageSetOptions options;
  options.train_size = 20000;
  options.label_noise = 0.45;
  const ImageSet set = open_image_set(options);
  const ImageSet sound = without_noise(options);
  ImageBatch batch(set.train->shape(), 1, heap_allocator());
  ImageBatch shown(set.train->shape(), 1, heap_allocator());
  const auto reader = set.train->make_reader();
  const auto sound_reader = sound.train->make_reader();
  std::array<std::array<int, 10>, 10> count{};
  for (std::int64_t i = 0; i < 20000; ++i) {
    reader->read({i, 0, 0}, batch, 0);
    sound_reader->read({i, 0, 0}, shown, 0);
    ++count[shown.labels[0]][batch.labels[0]];
  }
  for (int truth = 0; truth < 10; ++truth)
    for (int label = 0; label < 10; ++label)
      EXPECT_NEAR(count[truth][label], truth == label ? 1100 : 100, truth == label ? 120 : 50);
}

TEST(Glyphs, ClassesAreBalanced) {
  ImageSetOptions options;
  options.eval_size = 2000;
  const ImageBatch shown = read_all(*without_noise(options).eval);
  std::array<int, 10> count{};
  for (std::int64_t i = 0; i < shown.size; ++i) ++count[shown.labels[i]];
  for (const int c : count) EXPECT_EQ(c, 200);
}

TEST(Glyphs, ASeedNamesASetAndSplitsDiffer) {
  ImageSetOptions options;
  options.train_size = options.eval_size = 20;
  const ImageSet set = open_image_set(options);
  const ImageSet same = open_image_set(options);
  options.seed = 2;
  const ImageSet other = open_image_set(options);
  const auto pixels = [](const ImageSource& source) {
    const ImageBatch batch = read_all(source);
    return std::vector<std::uint8_t>(batch.pixels, batch.image(batch.size));
  };
  EXPECT_EQ(pixels(*set.train), pixels(*same.train));
  EXPECT_NE(pixels(*set.train), pixels(*other.train));
  EXPECT_NE(pixels(*set.train), pixels(*set.eval));
}

// The mean image of a class, without colours, must be nearer to a glyph of the class than those of
// the others are, for most: the classes can be told apart by shape alone.
TEST(Glyphs, ShapesCanBeToldApart) {
  ImageSetOptions options;
  options.train_size = 4000;
  options.eval_size = 500;
  options.label_noise = 0;
  const ImageSet set = open_image_set(options);
  const auto ink_of = [](const std::uint8_t* image) {
    // Distance from the corner's colour, then moved to the centre of mass.
    std::array<double, 1024> ink{};
    double total = 0;
    double cx = 0;
    double cy = 0;
    std::array<double, 3> ground{};
    for (int i = 0; i < 32; ++i)
      for (int c = 0; c < 3; ++c) ground[c] += image[i * 3 + c] / 32.0;
    for (int p = 0; p < 1024; ++p) {
      for (int c = 0; c < 3; ++c) ink[p] += std::abs(image[p * 3 + c] - ground[c]);
      ink[p] = ink[p] > 60 ? 1 : 0;
      total += ink[p];
      cx += ink[p] * (p % 32);
      cy += ink[p] * (p / 32);
    }
    std::array<double, 1024> moved{};
    const int dx = static_cast<int>(std::lround(cx / std::max(total, 1.0))) - 16;
    const int dy = static_cast<int>(std::lround(cy / std::max(total, 1.0))) - 16;
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x)
        if (y + dy >= 0 && y + dy < 32 && x + dx >= 0 && x + dx < 32)
          moved[y * 32 + x] = ink[(y + dy) * 32 + x + dx];
    return moved;
  };
  std::array<std::array<double, 1024>, 10> mean{};
  const ImageBatch train = read_all(*set.train);
  for (std::int64_t i = 0; i < train.size; ++i) {
    const auto ink = ink_of(train.image(i));
    for (int p = 0; p < 1024; ++p) mean[train.labels[i]][p] += ink[p] / 400;
  }
  const ImageBatch eval = read_all(*set.eval);
  int right = 0;
  for (std::int64_t i = 0; i < eval.size; ++i) {
    const auto ink = ink_of(eval.image(i));
    std::array<double, 10> distance{};
    for (int k = 0; k < 10; ++k)
      for (int p = 0; p < 1024; ++p) distance[k] += (ink[p] - mean[k][p]) * (ink[p] - mean[k][p]);
    const auto best = std::min_element(distance.begin(), distance.end()) - distance.begin();
    right += best == eval.labels[i] ? 1 : 0;
  }
  EXPECT_GT(right, 400);  // of 500, by a classifier that knows neither size nor turn; chance is 50
}

// A shape is known by how much of its cell it covers, wherever in the number it stands.
TEST(Glyphs, AThousandClassesAreNumbersOfThreeShapes) {
  ImageSetOptions options;
  options.classes = 1000;
  options.glyph_size = 96;
  options.label_noise = 0;
  options.train_size = 1000;
  const ImageSet set = open_image_set(options);
  EXPECT_EQ(set.info.classes, 1000);
  EXPECT_EQ(set.info.height, 96);
  const ImageBatch batch = read_all(*set.train);
  std::array<std::array<double, 10>, 3> cover{};  // of a shape at a place, on the average
  std::array<int, 1000> seen{};
  for (std::int64_t i = 0; i < batch.size; ++i) {
    const std::uint8_t* const image = batch.image(i);
    ++seen[batch.labels[i]];
    for (int place = 0; place < 3; ++place) {
      int inked = 0;
      for (int y = 0; y < 96; ++y)
        for (int x = 32 * place; x < 32 * (place + 1); ++x) {
          int distance = 0;
          for (int c = 0; c < 3; ++c) distance += std::abs(image[(y * 96 + x) * 3 + c] - image[c]);
          inked += distance > 110 ? 1 : 0;
        }
      const auto shape = batch.labels[i] / (place == 0 ? 100 : place == 1 ? 10 : 1) % 10;
      cover[place][shape] += inked / 100.0;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 1000);
  for (int shape = 0; shape < 10; ++shape)
    for (int place = 1; place < 3; ++place)
      EXPECT_NEAR(cover[place][shape] / cover[0][shape], 1, 0.2) << shape << " at " << place;
  EXPECT_GT(cover[0][2], 1.3 * cover[0][9]);  // a full square and an L
}

TEST(Glyphs, OptionsThatCannotBeAreRefused) {
  ImageSetOptions options;
  options.label_noise = 0.6;
  EXPECT_THAT(error_of([&] { return open_image_set(options); }).message(),
              HasSubstr("label noise of 0.6"));
  options = {};
  options.classes = 1001;
  EXPECT_THAT(error_of([&] { return open_image_set(options); }).message(),
              HasSubstr("1001 classes"));
  options.classes = 100;  // two digits do not fit into 32 pixels
  EXPECT_THAT(error_of([&] { return open_image_set(options); }).message(),
              HasSubstr("glyph_size of 32"));
  options = {};
  options.glyph_size = 100;
  EXPECT_THAT(error_of([&] { return open_image_set(options); }).message(),
              HasSubstr("glyph_size of 100"));
  options = {};
  options.set = "glyph";
  EXPECT_THAT(error_of([&] { return open_image_set(options); }).message(),
              HasSubstr("mean 'glyphs'"));
}

// Every path of the chain of one topic, with its probability: the definition, without recursion
// over sums.
void enumerate(const GrammarModel::Chain& chain, std::size_t length,
               const std::function<void(const std::vector<std::int32_t>&, double)>& use) {
  std::vector<std::int32_t> text;
  const std::function<void(const std::vector<GrammarModel::Transition>&, double)> extend =
      [&](const std::vector<GrammarModel::Transition>& from, double probability) {
        if (text.size() == length) return use(text, probability);
        for (const GrammarModel::Transition& step : from) {
          text.push_back(chain.states[step.to].word);
          extend(chain.states[step.to].next, probability * step.probability);
          text.pop_back();
        }
      };
  extend(chain.start, 1.0);
}

double seen_probability(const std::vector<std::int32_t>& text, const std::vector<Evidence>& seen) {
  double p = 1;
  for (std::size_t i = 0; i < text.size(); ++i)
    p *= text[i] == seen[i].word ? seen[i].match : seen[i].other;
  return p;
}

TEST(Grammar, ExactInferenceIsThatOfEnumeratingAllTexts) {
  const GrammarModel model(5);
  Random random(8);
  for (int round = 0; round < 6; ++round) {
    std::vector<std::int32_t> text_a(4);
    std::vector<std::int32_t> text_b(3);
    model.generate(random.below(8), random, text_a);
    model.generate(random.below(8), random, text_b);
    const auto corrupt = [&](const std::vector<std::int32_t>& text) {
      std::vector<Evidence> seen;
      for (const std::int32_t word : text) {
        const double fate = random.uniform();
        if (fate < 0.3)
          seen.push_back({-1, 0.8, 0.8});
        else if (fate < 0.5)
          seen.push_back({word, 0.1005, 0.0005});
        else
          seen.push_back({word, 1, 0});
      }
      return seen;
    };
    const std::vector<Evidence> a = corrupt(text_a);
    const std::vector<Evidence> b = corrupt(text_b);

    // P(a, word at i | topic), and the same for b.
    std::vector<std::vector<std::map<std::int32_t, double>>> words_a(8), words_b(8);
    std::vector<double> total_a(8), total_b(8);
    for (int k = 0; k < 8; ++k) {
      const auto collect = [&](const std::vector<Evidence>& seen, auto& words, double& total) {
        words.resize(seen.size());
        enumerate(model.chain(k), seen.size(), [&](const auto& text, double probability) {
          const double joint = probability * seen_probability(text, seen);
          total += joint;
          for (std::size_t i = 0; i < text.size(); ++i) words[i][text[i]] += joint;
        });
      };
      collect(a, words_a[k], total_a[k]);
      collect(b, words_b[k], total_b[k]);
    }
    double next = 0;
    double unrelated = 0;
    std::vector<std::map<std::int32_t, double>> posterior_a(a.size());
    for (int k = 0; k < 8; ++k)
      for (int l = 0; l < 8; ++l) {
        const double prior_next = k == l ? 0.5 / 8 : 0;
        const double prior_random = 0.5 / 64;
        next += prior_next * total_a[k] * total_b[l];
        unrelated += prior_random * total_a[k] * total_b[l];
        for (std::size_t i = 0; i < a.size(); ++i)
          for (const auto& [word, joint] : words_a[k][i])
            posterior_a[i][word] += (prior_next + prior_random) * joint * total_b[l];
      }
    const PairPosterior result = infer_pair(model, a, b);
    EXPECT_NEAR(result.random_next, unrelated / (next + unrelated), 1e-10);
    for (std::size_t i = 0; i < a.size(); ++i) {
      double best = 0;
      for (const auto& [word, joint] : posterior_a[i]) best = std::max(best, joint);
      EXPECT_NEAR(result.best_of_a[i], best / (next + unrelated), 1e-10);
    }
  }
}

TEST(Grammar, TheIdealPredictorScoresWhatIsStated) {
  TextSetOptions options;
  options.eval_size = 3000;
  const TextSet set = open_text_set(options);
  const GrammarModel model(options.seed);
  const TextBatch batch = read_all(*set.eval);
  double right = 0;
  double total = 0;
  double nsp_right = 0;
  for (std::int64_t row = 0; row < batch.size; ++row) {
    const PairEvidence seen = pair_evidence(batch, row);
    const PairPosterior posterior = infer_pair(model, seen.a, seen.b);
    nsp_right += (posterior.random_next > 0.5 ? 1 : 0) == batch.nsp_labels[row] ? 1 : 0;
    const auto size_a = static_cast<std::int32_t>(seen.a.size());
    for (std::int32_t m = 0; m < batch.masked_counts[row]; ++m) {
      const std::int32_t position = batch.masked_positions[row * batch.shape.masked + m];
      const std::int32_t guess = position <= size_a ? posterior.word_of_a[position - 1]
                                                    : posterior.word_of_b[position - size_a - 2];
      right += guess + grammar_first_word == batch.masked_labels[row * batch.shape.masked + m];
      ++total;
    }
  }
  ASSERT_TRUE(set.info.best_mlm_accuracy && set.info.best_nsp_accuracy);
  const auto tolerance = [](double p, double n) { return 3.5 * std::sqrt(p * (1 - p) / n); };
  const double mlm = set.info.best_mlm_accuracy->value;
  const double nsp = set.info.best_nsp_accuracy->value;
  EXPECT_NEAR(right / total, mlm, tolerance(mlm, total));
  EXPECT_NEAR(nsp_right / 3000, nsp, tolerance(nsp, 3000));
  // Topics are nearly always known, so only the random pairs of one topic are lost: 1/2 · 1/8.
  EXPECT_NEAR(nsp, 1 - 0.5 / 8, 0.005);
}

TEST(Grammar, TextsAreOfTheGrammar) {
  const TextSet set = open_text_set({});
  const TextBatch batch = read_all(*set.eval);
  const SpecialTokens special;
  for (std::int64_t row = 0; row < batch.size; ++row) {
    const std::int32_t* tokens = batch.tokens + row * 64;
    const std::int32_t length = batch.lengths[row];
    ASSERT_GE(length, 3 + 32);
    ASSERT_LE(length, 3 + 56);
    ASSERT_EQ(length % 8, 3);
    EXPECT_EQ(tokens[0], special.cls);
    EXPECT_EQ(tokens[length - 1], special.sep);
    for (std::int32_t i = length; i < 64; ++i) ASSERT_EQ(tokens[i], special.pad);
    // Undo the masks: every text then begins with a determiner and ends with a full stop.
    std::vector<std::int32_t> text(tokens, tokens + length);
    for (std::int32_t m = 0; m < batch.masked_counts[row]; ++m)
      text[batch.masked_positions[row * 10 + m]] = batch.masked_labels[row * 10 + m];
    EXPECT_LT(text[1], grammar_first_word + GrammarModel::determiners);
    const auto sep = std::find(text.begin(), text.end(), special.sep) - text.begin();
    EXPECT_LT(text[sep + 1], grammar_first_word + GrammarModel::determiners);
    EXPECT_EQ(text[sep - 1], grammar_first_word + GrammarModel::determiners);
    EXPECT_EQ(text[length - 2], grammar_first_word + GrammarModel::determiners);
    for (std::int32_t i = 0; i < 64; ++i)
      ASSERT_EQ(batch.segments[row * 64 + i], i > sep && i < length ? 1 : 0);
  }
}

TEST(Grammar, MasksChangeWithTheEpochInTrainingAndNeverInEvaluation) {
  TextSetOptions options;
  options.train_size = options.eval_size = 50;
  const TextSet set = open_text_set(options);
  const auto positions = [](const TextSource& source, const SampleKey& key) {
    const TextBatch batch = read_all(source, key);
    return std::vector<std::int32_t>(batch.masked_positions, batch.masked_positions + 50 * 10);
  };
  EXPECT_NE(positions(*set.train, {0, 0, 1}), positions(*set.train, {0, 1, 1}));
  EXPECT_NE(positions(*set.train, {0, 0, 1}), positions(*set.train, {0, 0, 2}));
  EXPECT_EQ(positions(*set.eval, {0, 0, 1}), positions(*set.eval, {0, 3, 2}));
}

TEST(Masking, ChoosesFifteenPercentAndHidesThemAsBertDoes) {
  const MaskingRule rule{SpecialTokens{}, 0.15, 5, 105};
  TextBatch batch({128, 20}, 1, heap_allocator());
  std::vector<std::int32_t> a(60);
  std::vector<std::int32_t> b(65);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 5 + static_cast<std::int32_t>(i);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 30 + static_cast<std::int32_t>(i);
  std::vector<std::int32_t> scratch;
  std::map<std::int32_t, int> chosen;
  double hidden = 0;
  double kept = 0;
  double total = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Random random(i);
    write_pair(rule, a, b, true, random, scratch, batch, 0);
    ASSERT_EQ(batch.masked_counts[0], 19);  // round(0.15 · 128)
    for (int m = 0; m < 19; ++m) {
      const std::int32_t position = batch.masked_positions[m];
      ASSERT_TRUE(m == 0 || position > batch.masked_positions[m - 1]);
      const std::int32_t truth = position <= 60 ? a[position - 1] : b[position - 62];
      ASSERT_EQ(batch.masked_labels[m], truth);
      ++chosen[position];
      ++total;
      hidden += batch.tokens[position] == rule.special.mask ? 1 : 0;
      kept += batch.tokens[position] == truth ? 1 : 0;
    }
    ASSERT_EQ(batch.masked_labels[19], TextBatch::ignored);
    ASSERT_EQ(batch.masked_positions[19], 0);
  }
  EXPECT_EQ(chosen.size(), 125U);
  EXPECT_EQ(chosen.count(61), 0U);  // [SEP]
  for (const auto& [position, times] : chosen) EXPECT_NEAR(times, 4000 * 19 / 125.0, 130);
  EXPECT_NEAR(hidden / total, 0.8, 0.01);
  EXPECT_NEAR(kept / total, 0.1 + 0.1 / 100, 0.01);
}

TEST(Masking, SequencesAndMasksThatCannotBeAreRefused) {
  TextSetOptions options;
  options.sequence = 10000;
  EXPECT_THAT(error_of([&] { return open_text_set(options); }).message(),
              HasSubstr("10000 tokens"));
  options.sequence = 20;
  EXPECT_THAT(error_of([&] { return open_text_set(options); }).message(), HasSubstr("no room"));
  options = {};
  options.masked = 62;
  EXPECT_THAT(error_of([&] { return open_text_set(options); }).message(), HasSubstr("62 masked"));
  options = {};
  options.mask_probability = 0;
  EXPECT_THAT(error_of([&] { return open_text_set(options); }).message(),
              HasSubstr("probability of 0"));
}

}  // namespace
}  // namespace assay::train::data
