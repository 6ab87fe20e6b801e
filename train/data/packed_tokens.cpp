#include "train/data/packed_tokens.h"

#include <algorithm>

namespace assay::train::data {

PackedTokens::PackedTokens(std::shared_ptr<const tokens::TokenStream> stream, std::int64_t first,
                           std::int64_t last, std::int64_t sequence, std::int64_t vocabulary)
    : stream_(std::move(stream)),
      first_(first),
      rows_(std::max<std::int64_t>(0, (last - first - 1) / sequence)),
      shape_{sequence},
      vocabulary_(vocabulary) {}

std::unique_ptr<Reader<TokenBatch>> PackedTokens::make_reader() const {
  return std::make_unique<TokenReader<PackedTokens>>(*this);
}

void PackedTokens::write(std::int64_t row, std::int32_t* tokens, std::int32_t* documents) const {
  const std::int64_t begin = first_ + row * shape_.sequence;
  const std::int64_t end = begin + shape_.row();
  stream_->read(begin, shape_.row(), vocabulary_, tokens);
  const std::span<const std::int64_t> starts = stream_->starts();
  auto next = std::ranges::upper_bound(starts, begin);  // the first document after the row's first
  std::int32_t document = 0;
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t until = next == starts.end() ? end : std::min(end, *next);
    std::fill(documents + (at - begin), documents + (until - begin), document++);
    at = until;
    if (next != starts.end()) ++next;
  }
}

}  // namespace assay::train::data
