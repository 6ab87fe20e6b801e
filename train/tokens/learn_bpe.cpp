#include "train/tokens/learn_bpe.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "train/tokens/byte_alphabet.h"

namespace assay::train::tokens {

void PieceCounts::add(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = piece_end(text, at, rules_);
    const std::string_view piece = text.substr(at, end - at);
    at = end;
    if (piece.size() > kLongest) continue;
    if (const auto it = counts_.find(piece); it != counts_.end())
      ++it->second;
    else
      counts_.emplace(std::string(piece), 1);
  }
}

void PieceCounts::merge(const PieceCounts& other) {
  for (const auto& [piece, count] : other.counts_) counts_[piece] += count;
}

class BpeLearner {
 public:
  explicit BpeLearner(const PieceCounts& counts) {
    parts_.rules = counts.rules_;
    std::array<std::int32_t, 256> ids{};
    for (const unsigned char byte : alphabet_order()) {
      ids[byte] = static_cast<std::int32_t>(parts_.tokens.size());
      parts_.tokens.emplace_back(1, static_cast<char>(byte));
    }
    // The result does not depend on the words' order; sorting also makes memory use reproducible.
    std::vector<std::pair<std::string_view, std::int64_t>> sorted(counts.counts_.begin(),
                                                                  counts.counts_.end());
    std::ranges::sort(sorted);
    words_.reserve(sorted.size());
    for (const auto& [piece, count] : sorted) {
      Word word{{}, count};
      for (const char byte : piece) word.pieces.push_back(ids[static_cast<unsigned char>(byte)]);
      words_.push_back(std::move(word));
      change(static_cast<std::int32_t>(words_.size()) - 1, 1);
    }
    offer_touched();
  }

  bool merge_best() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const std::int64_t count = pairs_.at(best.pair).count;
      if (count != best.count) {
        // The count has changed since; a greater one was offered when it did.
        if (count < best.count) offer(best.pair, count);
        continue;
      }
      merge(best.pair);
      return true;
    }
    return false;
  }

  [[nodiscard]] std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(parts_.tokens.size());
  }

  [[nodiscard]] BpeParts take() {
    const auto id = static_cast<std::int32_t>(parts_.tokens.size());
    parts_.tokens.emplace_back("<|end_of_text|>");
    parts_.special.push_back({parts_.tokens.back(), id});
    return std::move(parts_);
  }

 private:
  using Pair = std::pair<std::int32_t, std::int32_t>;
  struct PairHash {
    std::size_t operator()(const Pair& pair) const noexcept {
      return static_cast<std::size_t>((std::uint64_t{static_cast<std::uint32_t>(pair.first)} << 32 |
                                       static_cast<std::uint32_t>(pair.second)) *
                                          0x9E3779B97F4A7C15ULL >>
                                      7);
    }
  };
  struct Word {
    std::vector<std::int32_t> pieces;
    std::int64_t count = 0;
  };
  struct PairInfo {
    std::int64_t count = 0;
    std::vector<std::int32_t> words;  // those that may contain it
    bool touched = false;
  };
  struct Candidate {
    std::int64_t count;
    Pair pair;
    bool operator<(const Candidate& other) const noexcept {
      return std::tie(count, other.pair) < std::tie(other.count, pair);
    }
  };

  // Adds (sign 1) or subtracts (-1) a word's contribution to the pairs' counts.
  void change(std::int32_t index, int sign) {
    const Word& word = words_[static_cast<std::size_t>(index)];
    for (std::size_t i = 1; i < word.pieces.size(); ++i) {
      const Pair pair{word.pieces[i - 1], word.pieces[i]};
      PairInfo& info = pairs_[pair];
      info.count += sign * word.count;
      if (sign > 0 && (info.words.empty() || info.words.back() != index))
        info.words.push_back(index);
      if (!info.touched) touched_.push_back(pair);
      info.touched = true;
    }
  }

  void offer(const Pair& pair, std::int64_t count) {
    if (count >= 2) queue_.push({count, pair});
  }

  void offer_touched() {
    for (const Pair& pair : touched_) {
      PairInfo& info = pairs_.at(pair);
      info.touched = false;
      offer(pair, info.count);
    }
    touched_.clear();
  }

  void merge(const Pair& pair) {
    // Two merges may produce the same bytes, which are then one token.
    const auto [known, added] =
        ids_.try_emplace(parts_.tokens[static_cast<std::size_t>(pair.first)] +
                             parts_.tokens[static_cast<std::size_t>(pair.second)],
                         static_cast<std::int32_t>(parts_.tokens.size()));
    if (added) parts_.tokens.push_back(known->first);
    const std::int32_t merged = known->second;
    parts_.merges.push_back({pair.first, pair.second, merged});
    const std::vector<std::int32_t> where = std::move(pairs_.at(pair).words);
    pairs_.at(pair).words.clear();
    for (const std::int32_t index : where) merge_in(index, pair, merged);
    offer_touched();
  }

  void merge_in(std::int32_t index, const Pair& pair, std::int32_t merged) {
    std::vector<std::int32_t>& pieces = words_[static_cast<std::size_t>(index)].pieces;
    const auto both = [&](std::size_t i) {
      return i + 1 < pieces.size() && pieces[i] == pair.first && pieces[i + 1] == pair.second;
    };
    std::size_t first = 0;
    while (first < pieces.size() && !both(first)) ++first;
    if (first == pieces.size()) return;  // already merged by an earlier merge
    change(index, -1);
    std::size_t kept = first;
    for (std::size_t i = first; i < pieces.size(); ++i) {
      const bool here = both(i);
      pieces[kept++] = here ? merged : pieces[i];
      if (here) ++i;
    }
    pieces.resize(kept);
    change(index, 1);
  }

  BpeParts parts_;
  std::unordered_map<std::string, std::int32_t> ids_;  // of merged tokens
  std::vector<Word> words_;
  std::unordered_map<Pair, PairInfo, PairHash> pairs_;
  std::vector<Pair> touched_;
  std::priority_queue<Candidate> queue_;  // may contain outdated counts
};

Bpe learn_bpe(const PieceCounts& counts, std::int64_t size,
              const std::function<void(std::int64_t, std::int64_t)>& progress) {
  constexpr std::int64_t least = 257;
  constexpr std::int64_t most = 1'000'000;
  if (size < least || size > most)
    throw Error(ErrorKind::config, fmt::format("a vocabulary of {}", size), "byte-level BPE",
                fmt::format("use {} (the bytes and <|end_of_text|>) to {}", least, most));
  BpeLearner learner(counts);
  const std::int64_t bytes = learner.size();
  while (learner.size() < size - 1 && learner.merge_best())
    if (progress && learner.size() % 256 == 0) progress(learner.size() - bytes, size - least);
  return {learner.take(), "learnt vocabulary"};
}

}  // namespace assay::train::tokens
