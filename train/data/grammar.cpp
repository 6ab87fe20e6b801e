#include "train/data/grammar.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "train/data/masking.h"
#include "train/data/random.h"

namespace assay::train::data {

namespace {

constexpr std::int64_t grammar_train_size = 32768;
constexpr std::int64_t grammar_eval_size = 1024;
constexpr std::int64_t grammar_vocabulary = grammar_first_word + GrammarModel::words;

class Grammar final : public TextSource {
 public:
  Grammar(std::shared_ptr<const GrammarModel> model, const TextSetOptions& options, bool train,
          std::int64_t size)
      : model_(std::move(model)),
        seed_(Random(options.seed, 0x7E87u, train).bits()),
        train_(train),
        size_(size),
        shape_{options.sequence, masked_per_row(options)},
        rule_{SpecialTokens{}, options.mask_probability, grammar_first_word,
              static_cast<std::int32_t>(grammar_vocabulary)} {}

  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  [[nodiscard]] TextBatch::Shape shape() const noexcept override { return shape_; }
  [[nodiscard]] std::unique_ptr<Reader<TextBatch>> make_reader() const override;

  void write(const SampleKey& key, std::vector<std::int32_t>& text,
             std::vector<std::int32_t>& scratch, TextBatch& batch, std::int64_t row) const {
    Random random(seed_, 1, key.index);
    // Whole sentences in half-full to full rows, with at least one each for A and B.
    const std::int64_t most = (shape_.sequence - 3) / GrammarModel::sentence;
    const std::int64_t sentences = most - random.below(most / 2);
    const std::int64_t total = sentences * GrammarModel::sentence;
    const std::int64_t size_a = (1 + random.below(sentences - 1)) * GrammarModel::sentence;
    const std::int64_t topic_a = random.below(GrammarModel::topics);
    const bool random_next = random.bits() >> 63 != 0;
    const std::int64_t topic_b = random_next ? random.below(GrammarModel::topics) : topic_a;
    text.resize(static_cast<std::size_t>(total));
    const std::span<std::int32_t> a(text.data(), static_cast<std::size_t>(size_a));
    const std::span<std::int32_t> b(text.data() + size_a, static_cast<std::size_t>(total - size_a));
    model_->generate(topic_a, random, a);
    model_->generate(topic_b, random, b);
    for (std::int32_t& word : text) word += grammar_first_word;
    Random masks =
        train_ ? Random(key.seed, 0x3A5Cu, key.epoch, key.index) : Random(seed_, 2, key.index);
    write_pair(rule_, a, b, random_next, masks, scratch, batch, row);
  }

 private:
  std::shared_ptr<const GrammarModel> model_;
  std::uint64_t seed_;
  bool train_;
  std::int64_t size_;
  TextBatch::Shape shape_;
  MaskingRule rule_;
};

class GrammarReader final : public Reader<TextBatch> {
 public:
  explicit GrammarReader(const Grammar& grammar) : grammar_(grammar) {
    text_.reserve(static_cast<std::size_t>(grammar.shape().sequence));
    scratch_.reserve(static_cast<std::size_t>(grammar.shape().sequence));
  }
  void read(const SampleKey& key, TextBatch& batch, std::int64_t row) override {
    grammar_.write(key, text_, scratch_, batch, row);
  }

 private:
  const Grammar& grammar_;
  std::vector<std::int32_t> text_;
  std::vector<std::int32_t> scratch_;
};

std::unique_ptr<Reader<TextBatch>> Grammar::make_reader() const {
  return std::make_unique<GrammarReader>(*this);
}

std::int64_t grammar_set_size(std::int64_t asked, std::int64_t fallback, const char* what) {
  if (asked < 0 || asked > 1'000'000'000)
    throw Error(ErrorKind::config, fmt::format("{} {} samples", asked, what), "data set grammar",
                "use 1 to 1,000,000,000, or 0 for the default");
  return asked == 0 ? fallback : asked;
}

}  // namespace

TextSet open_grammar(const TextSetOptions& options) {
  const std::int64_t masked = masked_per_row(options);
  if (options.sequence < 3 * GrammarModel::sentence + 3)
    throw Error(ErrorKind::config,
                fmt::format("a sequence of {} tokens has no room for two texts", options.sequence),
                "data set grammar", "use 27 or more");
  const auto model = std::make_shared<const GrammarModel>(options.seed);
  const std::int64_t train_size =
      grammar_set_size(options.train_size, grammar_train_size, "training");
  const std::int64_t eval_size =
      grammar_set_size(options.eval_size, grammar_eval_size, "evaluation");
  TextSet set;
  set.train = std::make_shared<const Grammar>(model, options, true, train_size);
  set.eval = std::make_shared<const Grammar>(model, options, false, eval_size);
  set.info = {"grammar",
              grammar_vocabulary,
              options.sequence,
              masked,
              SpecialTokens{},
              train_size,
              eval_size,
              {},
              {}};
  const IdealAccuracy ideal = ideal_accuracy(*model, *set.eval);
  set.info.best_mlm_accuracy =
      BestAccuracy{ideal.mlm, fmt::format("expected of the exact posterior at the {} masked "
                                          "positions of the evaluation rows",
                                          ideal.masked)};
  set.info.best_nsp_accuracy = BestAccuracy{
      ideal.nsp, fmt::format("expected of the exact posterior of the {} evaluation pairs; a random "
                             "next text has the same topic in 1 of {} cases",
                             eval_size, GrammarModel::topics)};
  return set;
}

PairEvidence pair_evidence(const TextBatch& batch, std::int64_t row) {
  const std::int64_t sequence = batch.shape.sequence;
  const std::int32_t* const tokens = batch.tokens + row * sequence;
  const std::int32_t* const segments = batch.segments + row * sequence;
  const std::int32_t* const chosen = batch.masked_positions + row * batch.shape.masked;
  const std::int32_t* const chosen_end = chosen + batch.masked_counts[row];
  const SpecialTokens special;
  PairEvidence result;
  const std::int32_t* next_chosen = chosen;
  for (std::int32_t i = 1; i < batch.lengths[row] - 1; ++i) {
    if (tokens[i] == special.sep) continue;
    Evidence seen{tokens[i] - grammar_first_word, 1, 0};
    if (next_chosen != chosen_end && *next_chosen == i) {
      ++next_chosen;
      constexpr double stray = MaskingRule::to_random / GrammarModel::words;
      constexpr double kept = 1 - MaskingRule::to_mask - MaskingRule::to_random;
      if (tokens[i] == special.mask)
        seen = {-1, MaskingRule::to_mask, MaskingRule::to_mask};
      else
        seen = {seen.word, kept + stray, stray};
    }
    (segments[i] == 0 ? result.a : result.b).push_back(seen);
  }
  return result;
}

IdealAccuracy ideal_accuracy(const GrammarModel& model, const TextSource& source) {
  TextBatch batch(source.shape(), 1, heap_allocator());
  const std::unique_ptr<Reader<TextBatch>> reader = source.make_reader();
  IdealAccuracy result;
  for (std::int64_t index = 0; index < source.size(); ++index) {
    reader->read({index, 0, 0}, batch, 0);
    const PairEvidence seen = pair_evidence(batch, 0);
    const PairPosterior posterior = infer_pair(model, seen.a, seen.b);
    result.nsp += std::max(posterior.random_next, 1 - posterior.random_next);
    const auto size_a = static_cast<std::int32_t>(seen.a.size());
    for (std::int32_t m = 0; m < batch.masked_counts[0]; ++m) {
      const std::int32_t position = batch.masked_positions[m];
      result.mlm += position <= size_a ? posterior.best_of_a[position - 1]
                                       : posterior.best_of_b[position - size_a - 2];
      ++result.masked;
    }
  }
  result.mlm /= static_cast<double>(std::max<std::int64_t>(result.masked, 1));
  result.nsp /= static_cast<double>(std::max<std::int64_t>(source.size(), 1));
  return result;
}

}  // namespace assay::train::data
