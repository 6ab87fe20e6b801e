#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/data/random.h"

namespace assay::train::data {

/// The language of the `grammar` set: for every topic a regular grammar with probabilities,
///   sentence = determiner adjective noun verb determiner adjective noun "."
/// A topic has a favorite first determiner and a favorite adjective; an adjective has a favorite
/// noun, a noun its verb and a verb its determiner, which differ from topic to topic. As a Markov
/// chain over states that each emit one word, its conditional distributions are known exactly.
/// Immutable.
class GrammarModel {
 public:
  static constexpr std::int64_t topics = 8;
  static constexpr std::int64_t determiners = 2;  // shared by all topics, like the full stop
  static constexpr std::int64_t per_class = 4;    // nouns, verbs and adjectives of a topic
  static constexpr std::int64_t words = determiners + 1 + topics * 3 * per_class;
  static constexpr std::int64_t sentence = 8;  // words
  static constexpr double favorite = 0.85;     // probability of the favorite

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

  /// The favorites are drawn from the seed.
  explicit GrammarModel(std::uint64_t seed);

  [[nodiscard]] const Chain& chain(std::int64_t topic) const { return chains_[topic]; }

  /// `text.size()` words of a topic, from the beginning of a sentence.
  void generate(std::int64_t topic, Random& random, std::span<std::int32_t> text) const;

 private:
  std::vector<Chain> chains_;
};

/// What a predictor sees of one word: P(observation | word) is `match` for the word `word`, `other`
/// for every other one.
struct Evidence {
  std::int32_t word = -1;
  double match = 1;
  double other = 0;
};

/// What the ideal predictor knows about a pair of texts.
struct PairPosterior {
  double random_next = 0;         ///< probability that B is random
  std::vector<double> best_of_a;  ///< for every word of A, the probability of the likeliest
  std::vector<double> best_of_b;
  std::vector<std::int32_t> word_of_a;  ///< … and that word
  std::vector<std::int32_t> word_of_b;
};

/// Exact inference (forward-backward over the chains, sums over topics), where A's topic is
/// uniform, and B's is A's with probability 1/2 and else uniform and independent.
[[nodiscard]] PairPosterior infer_pair(const GrammarModel& model, std::span<const Evidence> a,
                                       std::span<const Evidence> b);

}  // namespace assay::train::data
