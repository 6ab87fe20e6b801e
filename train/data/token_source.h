#pragma once

#include "train/data/loader.h"

namespace assay::train::data {

/// Several sequences of tokens for a language model, in one buffer: documents one after the other,
/// cut into rows of S + 1 tokens, so that the first S are read and the last S are predicted. Both
/// arrays are int32 and lie one after the other in `storage`, each aligned to 64 bytes.
struct TokenBatch {
  struct Shape {
    std::int64_t sequence = 0;  ///< S
    /// Tokens of a row in memory: S + 1.
    [[nodiscard]] std::int64_t row() const noexcept { return sequence + 1; }
    bool operator==(const Shape&) const = default;
  };

  TokenBatch() = default;
  TokenBatch(const Shape& sample_shape, std::int64_t rows,
             const std::shared_ptr<HostAllocator>& allocator);

  Shape shape;
  std::int64_t capacity = 0;
  std::int64_t size = 0;
  std::int32_t* tokens = nullptr;  ///< [capacity, S + 1]; 0…vocabulary-1
  /// [capacity, S + 1]: which of the row's documents a token belongs to. 0 at the row's first
  /// token, whether or not a document starts there; one more where the next document starts.
  std::int32_t* documents = nullptr;
  HostBuffer storage;  ///< owns all of the above

  /// Bytes of the valid rows: what has to go to the device.
  [[nodiscard]] std::int64_t bytes() const noexcept { return size * 2 * 4 * shape.row(); }
};

/// One split of a set of token sequences; size() is the number of its rows. Of a set of files, row
/// i holds the tokens i · S … i · S + S of the split's stream of tokens: the last token of a row,
/// which is only predicted, is the first of the next one. What a row holds depends on its index
/// alone: the loader gives the rows to ranks, in a new order in each epoch, and a training goes on
/// at its exact token, also with another number of ranks, because the global batches of W ranks
/// with B rows are those of one rank with W · B rows.
using TokenSource = Source<TokenBatch>;
using TokenLoader = Loader<TokenBatch>;
using TokenLoan = Loan<TokenBatch>;

extern template class Loan<TokenBatch>;
extern template class Loader<TokenBatch>;

}  // namespace assay::train::data
