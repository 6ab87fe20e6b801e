#pragma once

#include "train/data/loader.h"

namespace assay::train::data {

/// Several token sequences for a language model in one buffer: consecutive documents, cut into rows
/// of S + 1 tokens, of which the first S are read and the last S predicted. Both arrays are int32
/// and follow each other in `storage`, each aligned to 64 bytes.
struct TokenBatch {
  struct Shape {
    std::int64_t sequence = 0;  ///< S
    /// Tokens stored per row: S + 1.
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
  /// [capacity, S + 1]: the document within the row to which a token belongs. 0 at the row's first
  /// token, whether or not a document starts there, and one more at each start of a document.
  std::int32_t* documents = nullptr;
  HostBuffer storage;  ///< owns all of the above

  /// Bytes of the valid rows, which must go to the device.
  [[nodiscard]] std::int64_t bytes() const noexcept { return size * 2 * 4 * shape.row(); }
};

/// One split of a set of token sequences; size() is its number of rows. In a set of files, row i
/// has the tokens i · S … i · S + S of the split's token stream: the last token of a row, which is
/// only predicted, is the first of the next. A row's content depends only on its index: the loader
/// distributes the rows to ranks in a new order in each epoch, and training resumes at the exact
/// token, even with another number of ranks, because the global batches of W ranks with B rows are
/// those of one rank with W · B rows.
using TokenSource = Source<TokenBatch>;
using TokenLoader = Loader<TokenBatch>;
using TokenLoan = Loan<TokenBatch>;

/// Reads rows of a source that writes each one by its index, into tokens and documents.
template <class TokenRows>
class TokenReader final : public Reader<TokenBatch> {
 public:
  explicit TokenReader(const TokenRows& source) : source_(source) {}
  void read(const SampleKey& key, TokenBatch& batch, std::int64_t row) override {
    const std::int64_t begin = row * batch.shape.row();
    source_.write(key.index, batch.tokens + begin, batch.documents + begin);
  }

 private:
  const TokenRows& source_;
};

extern template class Loan<TokenBatch>;
extern template class Loader<TokenBatch>;

}  // namespace assay::train::data
