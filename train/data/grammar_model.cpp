#include "train/data/grammar_model.h"

#include <algorithm>
#include <cmath>

namespace assay::train::data {

namespace {

using Chain = GrammarModel::Chain;
using Transition = GrammarModel::Transition;

constexpr auto per_class = static_cast<std::int32_t>(GrammarModel::per_class);
constexpr auto determiners = static_cast<std::int32_t>(GrammarModel::determiners);

// A chain's states: where each word class begins.
constexpr std::int32_t subject_determiner = 0;
constexpr std::int32_t subject_adjective = subject_determiner + determiners;
constexpr std::int32_t subject = subject_adjective + per_class;
constexpr std::int32_t verb = subject + per_class;
constexpr std::int32_t object_determiner = verb + per_class;
constexpr std::int32_t object_adjective = object_determiner + determiners;
constexpr std::int32_t object = object_adjective + per_class;
constexpr std::int32_t stop = object + per_class;
constexpr std::int32_t state_count = stop + 1;

// Prefers `likely` among the `count` states from `first`; the others are equally unlikely.
std::vector<Transition> prefer(std::int32_t first, std::int32_t count, std::int32_t likely) {
  std::vector<Transition> next;
  next.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i)
    next.push_back({first + i, i == likely ? GrammarModel::favorite
                                           : (1 - GrammarModel::favorite) / (count - 1)});
  return next;
}

Chain make_chain(std::int64_t topic, std::uint64_t seed) {
  Random random(seed, 0x6A33A5u, topic);
  const auto determiner = static_cast<std::int32_t>(random.below(determiners));
  const auto adjective = static_cast<std::int32_t>(random.below(per_class));
  const Permutation noun_of(per_class, random.bits());
  const Permutation verb_of(per_class, random.bits());
  const Permutation determiner_of(per_class, random.bits());
  const auto favorite_of = [](const Permutation& permutation, std::int32_t i) {
    return static_cast<std::int32_t>(permutation(i));
  };

  Chain chain;
  chain.states.resize(state_count);
  chain.start = prefer(subject_determiner, determiners, determiner);
  for (std::int32_t i = 0; i < determiners; ++i) {
    chain.states[subject_determiner + i] = {i, prefer(subject_adjective, per_class, adjective)};
    chain.states[object_determiner + i] = {i, prefer(object_adjective, per_class, adjective)};
  }
  const auto first = static_cast<std::int32_t>(determiners + 1 + topic * 3 * per_class);
  for (std::int32_t i = 0; i < per_class; ++i) {
    const std::int32_t adjective_word = first + i;
    const std::int32_t noun_word = first + per_class + i;
    const std::int32_t verb_word = first + 2 * per_class + i;
    const std::int32_t noun = favorite_of(noun_of, i);
    chain.states[subject_adjective + i] = {adjective_word, prefer(subject, per_class, noun)};
    chain.states[object_adjective + i] = {adjective_word, prefer(object, per_class, noun)};
    chain.states[subject + i] = {noun_word, prefer(verb, per_class, favorite_of(verb_of, i))};
    chain.states[verb + i] = {verb_word, prefer(object_determiner, determiners,
                                                favorite_of(determiner_of, i) % determiners)};
    chain.states[object + i] = {noun_word, {{stop, 1.0}}};
  }
  chain.states[stop] = {determiners, chain.start};
  return chain;
}

std::int32_t draw(std::span<const Transition> from, Random& random) {
  double left = random.uniform();
  for (const Transition& transition : from) {
    left -= transition.probability;
    if (left < 0) return transition.to;
  }
  return from.back().to;
}

double likelihood(const Evidence& seen, std::int32_t word) {
  return seen.word == word ? seen.match : seen.other;
}

// A text under one topic: log P(text | topic) and, for every position, P(state | text, topic).
struct Smoothed {
  double log_evidence = -INFINITY;
  std::vector<double> states;  // [places, state_count]
};

Smoothed smooth(const Chain& chain, std::span<const Evidence> text) {
  Smoothed result;
  const std::size_t places = text.size();
  std::vector<double>& alpha = result.states;
  alpha.assign(places * state_count, 0.0);
  double log_evidence = 0;
  for (std::size_t t = 0; t < places; ++t) {
    double* const now = &alpha[t * state_count];
    if (t == 0) {
      for (const Transition& step : chain.start) now[step.to] += step.probability;
    } else {
      const double* const before = now - state_count;
      for (std::int32_t s = 0; s < state_count; ++s)
        if (before[s] > 0)
          for (const Transition& step : chain.states[s].next)
            now[step.to] += before[s] * step.probability;
    }
    double total = 0;
    for (std::int32_t s = 0; s < state_count; ++s) {
      now[s] *= likelihood(text[t], chain.states[s].word);
      total += now[s];
    }
    if (total == 0) return result;  // impossible under this topic
    for (std::int32_t s = 0; s < state_count; ++s) now[s] /= total;
    log_evidence += std::log(total);
  }
  result.log_evidence = log_evidence;

  std::vector<double> beta(state_count, 1.0);
  std::vector<double> earlier(state_count);
  for (std::size_t t = places; t-- > 0;) {
    double* const now = &alpha[t * state_count];
    if (t + 1 < places) {
      double total = 0;
      for (std::int32_t s = 0; s < state_count; ++s) {
        earlier[s] = 0;
        for (const Transition& step : chain.states[s].next)
          earlier[s] += step.probability * beta[step.to] *
                        likelihood(text[t + 1], chain.states[step.to].word);
        total += earlier[s];
      }
      for (double& value : earlier) value /= total;
      beta.swap(earlier);
    }
    double total = 0;
    for (std::int32_t s = 0; s < state_count; ++s) total += now[s] *= beta[s];
    for (std::int32_t s = 0; s < state_count; ++s) now[s] /= total;
  }
  return result;
}

// The most likely word at every position, if the topic is distributed as `topic_weight`.
void best_words(const GrammarModel& model, const std::vector<Smoothed>& by_topic,
                std::span<const double> topic_weight, std::size_t places, std::vector<double>& best,
                std::vector<std::int32_t>& word) {
  best.assign(places, 0.0);
  word.assign(places, 0);
  std::vector<double> probability(GrammarModel::words);
  for (std::size_t t = 0; t < places; ++t) {
    std::fill(probability.begin(), probability.end(), 0.0);
    for (std::int64_t k = 0; k < GrammarModel::topics; ++k) {
      if (topic_weight[k] == 0) continue;
      const std::vector<GrammarModel::State>& states = model.chain(k).states;
      for (std::int32_t s = 0; s < state_count; ++s)
        probability[states[s].word] += topic_weight[k] * by_topic[k].states[t * state_count + s];
    }
    const auto top = std::max_element(probability.begin(), probability.end());
    best[t] = *top;
    word[t] = static_cast<std::int32_t>(top - probability.begin());
  }
}

}  // namespace

GrammarModel::GrammarModel(std::uint64_t seed) {
  for (std::int64_t topic = 0; topic < topics; ++topic) chains_.push_back(make_chain(topic, seed));
}

void GrammarModel::generate(std::int64_t topic, Random& random,
                            std::span<std::int32_t> text) const {
  const Chain& chain = chains_[topic];
  std::span<const Transition> from = chain.start;
  for (std::int32_t& word : text) {
    const State& state = chain.states[draw(from, random)];
    word = state.word;
    from = state.next;
  }
}

PairPosterior infer_pair(const GrammarModel& model, std::span<const Evidence> a,
                         std::span<const Evidence> b) {
  constexpr std::int64_t topics = GrammarModel::topics;
  std::vector<Smoothed> of_a;
  std::vector<Smoothed> of_b;
  double most_a = -INFINITY;
  double most_b = -INFINITY;
  for (std::int64_t k = 0; k < topics; ++k) {
    of_a.push_back(smooth(model.chain(k), a));
    of_b.push_back(smooth(model.chain(k), b));
    most_a = std::max(most_a, of_a.back().log_evidence);
    most_b = std::max(most_b, of_b.back().log_evidence);
  }
  // P(a's topic, b's topic) up to a factor: the same one (next), or any two (random).
  std::vector<double> evidence_a(topics);
  std::vector<double> evidence_b(topics);
  double sum_a = 0;
  double sum_b = 0;
  double together = 0;
  for (std::int64_t k = 0; k < topics; ++k) {
    sum_a += evidence_a[k] = std::exp(of_a[k].log_evidence - most_a);
    sum_b += evidence_b[k] = std::exp(of_b[k].log_evidence - most_b);
    together += evidence_a[k] * evidence_b[k];
  }
  const double next = together / topics;
  const double random = sum_a * sum_b / (topics * topics);
  std::vector<double> topic_a(topics);
  std::vector<double> topic_b(topics);
  for (std::int64_t k = 0; k < topics; ++k) {
    const double both = evidence_a[k] * evidence_b[k] / topics;
    topic_a[k] = (both + evidence_a[k] * sum_b / (topics * topics)) / (next + random);
    topic_b[k] = (both + evidence_b[k] * sum_a / (topics * topics)) / (next + random);
  }
  PairPosterior result;
  result.random_next = random / (next + random);
  best_words(model, of_a, topic_a, a.size(), result.best_of_a, result.word_of_a);
  best_words(model, of_b, topic_b, b.size(), result.best_of_b, result.word_of_b);
  return result;
}

}  // namespace assay::train::data
