#include <algorithm>
#include <cmath>
#include <set>

#include "train/data/vocabulary.h"
#include "train/data/words.h"

namespace assay::train::data {

namespace {

constexpr std::size_t most_characters = 1000;

using Pair = std::pair<std::int32_t, std::int32_t>;

std::vector<std::string> characters_of(const std::string& word) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t begin = at;
    static_cast<void>(next_code_point(word, at));
    result.push_back((begin == 0 ? "" : "##") + word.substr(begin, at - begin));
  }
  return result;
}

class Learner {
 public:
  Learner(const WordCounts& counts, std::int64_t size) : size_(size) {
    choose_characters(counts);
    for (const auto& [text, count] : counts) add_word(text, count);
  }

  std::vector<std::string> learn() {
    while (static_cast<std::int64_t>(tokens_.size()) < size_ && merge_best()) {
    }
    return std::move(tokens_);
  }

 private:
  struct Word {
    std::vector<std::int32_t> pieces;
    std::int64_t count = 0;
  };
  struct PairInfo {
    std::int64_t count = 0;
    std::set<std::int32_t> words;  // those that may contain it
  };

  void choose_characters(const WordCounts& counts) {
    std::map<std::string, std::int64_t> frequency;
    for (const auto& [text, count] : counts)
      if (!is_too_long(text))
        for (const std::string& character : characters_of(text)) frequency[character] += count;
    std::vector<std::pair<std::int64_t, std::string>> order;
    order.reserve(frequency.size());
    for (const auto& [character, count] : frequency) order.emplace_back(-count, character);
    std::sort(order.begin(), order.end());
    const std::int64_t room = size_ - static_cast<std::int64_t>(tokens_.size());
    order.resize(std::min({order.size(), most_characters,
                           static_cast<std::size_t>(std::max<std::int64_t>(room, 0))}));
    for (const auto& [count, character] : order) alphabet_[character] = 0;
    for (auto& [character, id] : alphabet_) id = new_token(character);
  }

  std::int32_t new_token(const std::string& text) {
    tokens_.push_back(text);
    token_counts_.resize(tokens_.size());
    return static_cast<std::int32_t>(tokens_.size()) - 1;
  }

  void add_word(const std::string& text, std::int64_t count) {
    if (is_too_long(text)) return;  // remains unknown
    Word word{{}, count};
    for (const std::string& character : characters_of(text)) {
      const auto it = alphabet_.find(character);
      if (it == alphabet_.end()) return;  // remains unknown
      word.pieces.push_back(it->second);
    }
    words_.push_back(std::move(word));
    change(static_cast<std::int32_t>(words_.size()) - 1, 1);
  }

  // Adds (sign 1) or subtracts (-1) a word's contribution to all counts.
  void change(std::int32_t index, int sign) {
    const Word& word = words_[index];
    for (std::size_t i = 0; i < word.pieces.size(); ++i) {
      token_counts_[word.pieces[i]] += sign * word.count;
      all_ += sign * word.count;
      if (i == 0) continue;
      const Pair pair{word.pieces[i - 1], word.pieces[i]};
      PairInfo& info = pairs_[pair];
      by_count_.erase({-info.count, pair});
      info.count += sign * word.count;
      if (sign > 0) info.words.insert(index);
      if (info.count > 0)
        by_count_.insert({-info.count, pair});
      else
        pairs_.erase(pair);
    }
  }

  [[nodiscard]] double gain(const Pair& pair, std::int64_t count) const {
    const auto c = static_cast<double>(count);
    return c * std::log(c * static_cast<double>(all_) /
                        (static_cast<double>(token_counts_[pair.first]) *
                         static_cast<double>(token_counts_[pair.second])));
  }

  bool merge_best() {
    double best = 0;
    Pair chosen{-1, -1};
    for (const auto& [negative, pair] : by_count_) {
      const std::int64_t count = -negative;
      if (count < 2) break;
      // No pair with this count can gain more, since each of its tokens occurs at least as often;
      // below all / e, fewer occurrences gain less.
      const auto c = static_cast<double>(count);
      const auto all = static_cast<double>(all_);
      if (c * std::exp(1.0) < all && c * std::log(all / c) <= best) break;
      const double value = gain(pair, count);
      if (value > best) {
        best = value;
        chosen = pair;
      }
    }
    if (chosen.first < 0) return false;
    const std::string& tail = tokens_[chosen.second];  // always "##…"
    const std::int32_t merged = new_token(tokens_[chosen.first] + tail.substr(2));
    const std::set<std::int32_t> where = pairs_[chosen].words;
    for (const std::int32_t index : where) merge_in(index, chosen, merged);
    return true;
  }

  void merge_in(std::int32_t index, const Pair& pair, std::int32_t merged) {
    change(index, -1);
    std::vector<std::int32_t>& pieces = words_[index].pieces;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool here =
          i + 1 < pieces.size() && pieces[i] == pair.first && pieces[i + 1] == pair.second;
      pieces[kept++] = here ? merged : pieces[i];
      if (here) ++i;
    }
    pieces.resize(kept);
    change(index, 1);
  }

  std::int64_t size_;
  std::vector<std::string> tokens_{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::vector<std::int64_t> token_counts_;
  std::int64_t all_ = 0;
  std::map<std::string, std::int32_t> alphabet_;
  std::vector<Word> words_;
  std::map<Pair, PairInfo> pairs_;
  std::set<std::pair<std::int64_t, Pair>> by_count_;  // most frequent first
};

}  // namespace

std::vector<std::string> learn_vocabulary(const WordCounts& words, std::int64_t size) {
  return Learner(words, size).learn();
}

}  // namespace assay::train::data
