#include "train/data/markov_language.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::train::data {

namespace {

constexpr std::int64_t language_vocabulary = 128;
constexpr std::int64_t language_train_size = 65'536;
constexpr std::int64_t language_eval_size = 256;
constexpr std::int64_t language_most_tokens = 1 << 20;  // vocabulary limit: 128 MiB of choices

}  // namespace

Language::Language(std::int64_t vocabulary, std::uint64_t seed) : vocabulary_(vocabulary) {
  double sum = 0;
  for (std::int64_t i = 0; i < choices; ++i) sum += 1.0 / static_cast<double>(i + 1);
  for (std::int64_t i = 0; i < choices; ++i)
    probabilities_[i] = 1.0 / static_cast<double>(i + 1) / sum;
  following_.resize(vocabulary * classes * choices);
  for (std::int64_t context = 0; context < vocabulary * classes; ++context) {
    Random random(seed, 0x1a0u, context);
    std::int32_t* const chosen = following_.data() + context * choices;
    for (std::int64_t i = 0; i < choices; ++i) {
      do {
        chosen[i] = static_cast<std::int32_t>(1 + random.below(vocabulary - 1));
      } while (std::find(chosen, chosen + i, chosen[i]) != chosen + i);
    }
  }
}

double Language::entropy() const noexcept {
  double within = 0;
  for (const double p : probabilities_) within -= p * std::log(p);
  constexpr double stay = 1 - document_end;
  return -document_end * std::log(document_end) - stay * std::log(stay) + stay * within;
}

double Language::probability(std::int32_t before, std::int32_t last,
                             std::int32_t next) const noexcept {
  if (next == 0) return document_end;
  const std::int32_t* const chosen = following(before, last);
  const auto* const found = std::find(chosen, chosen + choices, next);
  return found == chosen + choices ? 0 : (1 - document_end) * probabilities_[found - chosen];
}

std::int32_t Language::draw(std::int32_t before, std::int32_t last, Random& random) const noexcept {
  if (random.uniform() < document_end) return 0;
  double rest = random.uniform();
  std::int64_t choice = 0;
  while (choice + 1 < choices && rest >= probabilities_[choice]) rest -= probabilities_[choice++];
  return following(before, last)[choice];
}

namespace {

class LanguageSource final : public TokenSource {
 public:
  LanguageSource(std::shared_ptr<const Language> language, std::uint64_t seed, std::int64_t size,
                 std::int64_t sequence)
      : language_(std::move(language)), seed_(seed), size_(size), shape_{sequence} {}

  std::int64_t size() const noexcept override { return size_; }
  TokenBatch::Shape shape() const noexcept override { return shape_; }
  std::unique_ptr<Reader<TokenBatch>> make_reader() const override;

  void write(std::int64_t index, std::int32_t* tokens, std::int32_t* documents) const {
    Random random(seed_, 0x1a1u, index);
    tokens[0] = 0;
    documents[0] = 0;
    std::int32_t before = 0;
    for (std::int64_t i = 1; i < shape_.row(); ++i) {
      tokens[i] = language_->draw(before, tokens[i - 1], random);
      documents[i] = documents[i - 1] + (tokens[i] == 0 ? 1 : 0);
      before = tokens[i] == 0 ? 0 : tokens[i - 1];
    }
  }

 private:
  std::shared_ptr<const Language> language_;
  std::uint64_t seed_;
  std::int64_t size_;
  TokenBatch::Shape shape_;
};

std::unique_ptr<Reader<TokenBatch>> LanguageSource::make_reader() const {
  return std::make_unique<TokenReader<LanguageSource>>(*this);
}

// The language's own loss, averaged over the rows' predictions.
double loss_of_language(const Language& language, const LanguageSource& source) {
  const std::int64_t row = source.shape().row();
  std::vector<std::int32_t> tokens(row);
  std::vector<std::int32_t> documents(row);
  double sum = 0;
  for (std::int64_t index = 0; index < source.size(); ++index) {
    source.write(index, tokens.data(), documents.data());
    std::int32_t before = 0;
    for (std::int64_t i = 1; i < row; ++i) {
      sum -= std::log(language.probability(before, tokens[i - 1], tokens[i]));
      before = tokens[i] == 0 ? 0 : tokens[i - 1];
    }
  }
  return sum / static_cast<double>(source.size() * (row - 1));
}

}  // namespace

TokenSet open_language(const TokenSetOptions& options) {
  const auto or_default = [](std::int64_t value, std::int64_t fallback) {
    return value == 0 ? fallback : value;
  };
  const std::int64_t vocabulary = or_default(options.vocabulary_size, language_vocabulary);
  if (vocabulary < Language::least_vocabulary || vocabulary > language_most_tokens)
    throw Error(ErrorKind::config, fmt::format("a vocabulary of {} tokens", vocabulary),
                "data set language",
                fmt::format("use {} to {}", Language::least_vocabulary, language_most_tokens));
  const auto language = std::make_shared<const Language>(vocabulary, options.seed);
  const std::int64_t train_size = or_default(options.train_size, language_train_size);
  const std::int64_t eval_size = or_default(options.eval_size, language_eval_size);
  if (train_size < 1 || eval_size < 1)
    throw Error(ErrorKind::config,
                fmt::format("{} and {} rows for training and evaluation", train_size, eval_size),
                "data set language", "use 1 or more, or 0 for the default");
  const auto rows = [&](std::uint64_t split, std::int64_t size) {
    return std::make_shared<const LanguageSource>(language, Random(options.seed, split).bits(),
                                                  size, options.sequence);
  };
  const auto evaluation = rows(2, eval_size);
  TokenSet set;
  set.train = rows(1, train_size);
  set.eval = evaluation;
  set.info = {"language", vocabulary, options.sequence,
              train_size, eval_size,  loss_of_language(*language, *evaluation)};
  return set;
}

}  // namespace assay::train::data
