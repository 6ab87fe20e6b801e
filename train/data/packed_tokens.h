#pragma once

#include <memory>

#include "train/data/token_source.h"
#include "train/tokens/token_stream.h"

namespace assay::train::data {

/// Rows of a token stream: consecutive documents without gaps or padding. Row i has the tokens i ·
/// S … i · S + S of the stream's part first … last-1; the remainder that does not fill a row is
/// left out. A row's documents tell where attention would cross a boundary.
class PackedTokens final : public TokenSource {
 public:
  PackedTokens(std::shared_ptr<const tokens::TokenStream> stream, std::int64_t first,
               std::int64_t last, std::int64_t sequence, std::int64_t vocabulary);

  [[nodiscard]] std::int64_t size() const noexcept override { return rows_; }
  [[nodiscard]] TokenBatch::Shape shape() const noexcept override { return shape_; }
  [[nodiscard]] std::unique_ptr<Reader<TokenBatch>> make_reader() const override;

  /// Both have S + 1 elements. Throws Error of kind environment for a token outside the vocabulary.
  void write(std::int64_t row, std::int32_t* tokens, std::int32_t* documents) const;

 private:
  std::shared_ptr<const tokens::TokenStream> stream_;
  std::int64_t first_;
  std::int64_t rows_;
  TokenBatch::Shape shape_;
  std::int64_t vocabulary_;
};

}  // namespace assay::train::data
