#pragma once

#include <filesystem>
#include <string_view>

#include "core/mapped_file.h"
#include "train/tokens/token_stream.h"

namespace assay::train::tokens {

/// Megatron's indexed data sets: PREFIX.bin has tokens, PREFIX.idx says where sequences and
/// documents are. Two kinds of index: MMIDIDX, version 1, which is also written here, and the older
/// TNTIDX, with Megatron's list of documents or without it, as fairseq's (a sequence is a document
/// then). Both files are mapped, so that opening costs a look at every entry of the index.
class IndexedSet final : public TokenStream {
 public:
  /// `path` is PREFIX, PREFIX.idx or PREFIX.bin. Everything in the index is checked. Throws Error
  /// of kind environment with the place: a file that is cut, too long or of another kind, sizes
  /// that contradict each other, an entry outside of .bin or within a token, bytes of .bin that no
  /// entry has or that several have.
  explicit IndexedSet(const std::filesystem::path& path);

  [[nodiscard]] std::span<const std::int64_t> starts() const noexcept override { return starts_; }
  void read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
            std::int32_t* out) const override;

  [[nodiscard]] std::int64_t sequences() const noexcept {
    return static_cast<std::int64_t>(begins_.size()) - 1;
  }

 private:
  friend class IndexReader;
  MappedFile bin_;
  int type_ = 0;                       // code of the tokens' type
  std::vector<std::int64_t> begins_;   // first token of each sequence, and the number of tokens
  std::vector<std::int64_t> offsets_;  // of each sequence in .bin, in bytes; empty: one after the
                                       // other
  std::vector<std::int64_t> starts_;
};

/// PREFIX of PREFIX, PREFIX.idx and PREFIX.bin.
[[nodiscard]] std::filesystem::path indexed_prefix(const std::filesystem::path& path);
[[nodiscard]] std::filesystem::path index_path(const std::filesystem::path& prefix);
[[nodiscard]] std::filesystem::path tokens_path(const std::filesystem::path& prefix);

// The format of both files, for what reads and what writes them.
inline constexpr std::string_view kIndexMagic{"MMIDIDX\0\0", 9};
inline constexpr std::string_view kOldIndexMagic{"TNTIDX\0\0", 8};
inline constexpr int kInt32Code = 4;
inline constexpr int kUint16Code = 8;
/// Bytes of a token of the type with this code; 0 when there is no such type, or it is no type of
/// tokens.
[[nodiscard]] std::size_t token_bytes(std::uint64_t code) noexcept;

}  // namespace assay::train::tokens
