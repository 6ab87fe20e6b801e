#pragma once

#include <string>

#include "train/tokens/bpe.h"

namespace assay::train::tokens {

/// A vocabulary of the 256 bytes (in the order of their values, ids 0…255), the tokens that
/// `merges` make in turn ("a b", in plain text, a blank as '_'), and <|end_of_text|>.
inline BpeParts small_parts(const std::vector<std::string>& merges,
                            const SplitRules& rules = kGpt2Rules) {
  BpeParts parts;
  parts.rules = rules;
  for (int byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(1, static_cast<char>(byte));
  const auto id = [&](std::string text) {
    for (char& c : text)
      if (c == '_') c = ' ';
    for (std::size_t i = 0; i < parts.tokens.size(); ++i)
      if (parts.tokens[i] == text) return static_cast<std::int32_t>(i);
    parts.tokens.push_back(text);
    return static_cast<std::int32_t>(parts.tokens.size()) - 1;
  };
  for (const std::string& merge : merges) {
    const std::size_t blank = merge.find(' ');
    const std::string left = merge.substr(0, blank);
    const std::string right = merge.substr(blank + 1);
    parts.merges.push_back({id(left), id(right), id(left + right)});
  }
  const auto last = static_cast<std::int32_t>(parts.tokens.size());
  parts.tokens.emplace_back("<|end_of_text|>");
  parts.special.push_back({"<|end_of_text|>", last});
  return parts;
}

inline std::vector<std::int32_t> ids_of(const Bpe& bpe, std::string_view text) {
  std::vector<std::int32_t> ids;
  BpeEncoder(bpe).encode(text, ids);
  return ids;
}

/// The tokens, each as text.
inline std::vector<std::string> tokens_of(const Bpe& bpe, std::string_view text) {
  std::vector<std::string> out;
  for (const std::int32_t id : ids_of(bpe, text)) out.push_back(bpe.decode({{id}}));
  return out;
}

}  // namespace assay::train::tokens
