#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/data/random.h"

namespace assay::train::data {

/// The language of the `grammar` set: a regular grammar with probabilities for every topic,
///   sentence = determiner adjective noun verb determiner adjective noun "."
/// A topic has a favorite first determiner and a favorite adjective; an adjective has a favorite
/// noun, a noun its verb and a verb its determiner, which differ from topic to topic. It is a
/// Markov chain over states that each emit one word, so its conditional distributions are known
/// exactly. Immutable.
class GrammarModel {
 public:
  static constexpr std::int64_t topics = 8;
  static constexpr std::int64_t determiners = 2;  // shared by all topics, like the full stop
  static constexpr std::int64_t per_class = 4;    // nouns, verbs and adjectives of a topic
  static constexpr std::int64_t words = determiners + 1 + topics * 3 * per_class;
  static constexpr std::int64_t sentence = 8;  // words
  static constexpr double favorite = 0.85;     // the favorite's probability

  struct Transition {
    std::int32_t to = 0;
    double probability = 0;
  };
  struct State {
    std::int32_t word = 0;  // 0…words-1
    std::vector<Transition> next;
  };
  struct Chain {
    std::vector<State> states;
    std::vector<Transition> start;
  };

  /// Draws the favorites from the seed.
  explicit GrammarModel(std::uint64_t seed);

  [[nodiscard]] const Chain& chain(std::int64_t topic) const { return chains_[topic]; }

  /// Generates `text.size()` words of a topic, starting at the beginning of a sentence.
  void generate(std::int64_t topic, Random& random, std::span<std::int32_t> text) const;

 private:
  std::vector<Chain> chains_;
};

/// A predictor's view of one word: P(observation | word) is `match` for the word `word` and `other`
/// for any other.
struct Evidence {
  std::int32_t word = -1;
  double match = 1;
  double other = 0;
};

/// The ideal predictor's knowledge of a pair of texts.
struct PairPosterior {
  double random_next = 0;         ///< probability that B is random
  std::vector<double> best_of_a;  ///< for every word of A, the highest probability
  std::vector<double> best_of_b;
  std::vector<std::int32_t> word_of_a;  ///< … and its word
  std::vector<std::int32_t> word_of_b;
};

/// Exact inference (forward-backward over the chains, sums over topics), if A's topic is uniform,
/// and B's is A's with probability 1/2 and otherwise uniform and independent.
[[nodiscard]] PairPosterior infer_pair(const GrammarModel& model, std::span<const Evidence> a,
                                       std::span<const Evidence> b);

}  // namespace assay::train::data
