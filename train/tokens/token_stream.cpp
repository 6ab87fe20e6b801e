#include "train/tokens/token_stream.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::train::tokens {

void outside_vocabulary(std::int64_t token, std::int64_t vocabulary, const std::string& where) {
  throw Error(ErrorKind::environment,
              fmt::format("the token {} is not of the vocabulary of {}", token, vocabulary), where,
              "give the tokenizer that the tokens were made with");
}

void MemoryTokens::read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                        std::int32_t* out) const {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = tokens_[static_cast<std::size_t>(first + i)];
    if (out[i] < 0 || out[i] >= vocabulary)
      outside_vocabulary(out[i], vocabulary, fmt::format("token {}", first + i));
  }
}

void MemoryTokens::append(std::span<const std::int32_t> tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void MemoryTokens::end_document() {
  const auto end = static_cast<std::int64_t>(tokens_.size());
  if (end > starts_.back()) starts_.push_back(end);
}

JoinedTokens::JoinedTokens(std::vector<std::unique_ptr<const TokenStream>> parts)
    : parts_(std::move(parts)) {
  for (const auto& part : parts_) {
    const std::int64_t begin = starts_.back();
    begins_.push_back(begin);
    for (const std::int64_t start : part->starts().subspan(1)) starts_.push_back(begin + start);
  }
}

void JoinedTokens::read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                        std::int32_t* out) const {
  // The last part that begins at or before `first`: empty parts begin with the next one.
  std::size_t at =
      static_cast<std::size_t>(std::ranges::upper_bound(begins_, first) - begins_.begin()) - 1;
  while (count > 0) {
    const std::int64_t begin = first - begins_[at];
    const std::int64_t here = std::min(count, parts_[at]->size() - begin);
    if (here > 0) parts_[at]->read(begin, here, vocabulary, out);
    first += here;
    out += here;
    count -= here;
    ++at;
  }
}

}  // namespace assay::train::tokens
