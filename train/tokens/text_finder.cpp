#include "train/tokens/text_finder.h"

#include <algorithm>
#include <functional>

namespace assay::train::tokens {

void TextFinder::add(std::string_view text, std::int32_t id) {
  std::vector<Wanted>& same = by_first_byte_[static_cast<unsigned char>(text.front())];
  const auto place = std::ranges::upper_bound(
      same, text.size(), std::greater<>(), [](const Wanted& wanted) { return wanted.text.size(); });
  same.insert(place, {text, id});
  empty_ = false;
}

std::optional<TextFinder::Hit> TextFinder::find(std::string_view text,
                                                std::size_t from) const noexcept {
  if (empty_) return std::nullopt;
  for (std::size_t at = from; at < text.size(); ++at)
    for (const Wanted& wanted : by_first_byte_[static_cast<unsigned char>(text[at])])
      if (text.substr(at).starts_with(wanted.text)) return Hit{at, wanted.text.size(), wanted.id};
  return std::nullopt;
}

}  // namespace assay::train::tokens
