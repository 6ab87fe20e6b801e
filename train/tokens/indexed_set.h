#pragma once

#include <filesystem>
#include <string_view>

#include "core/mapped_file.h"
#include "train/tokens/token_stream.h"

namespace assay::train::tokens {

/// Megatron's indexed data sets: PREFIX.bin has tokens, PREFIX.idx says where sequences and
/// documents are. There are two kinds of index: MMIDIDX, version 1, also written here, and the
/// older TNTIDX, with Megatron's list of documents or without it, as fairseq's (a sequence is then
/// a document). Both files are mapped: opening only costs a pass over the index.
class IndexedSet final : public TokenStream {
 public:
  /// `path` is PREFIX, PREFIX.idx or PREFIX.bin. Verifies everything in the index. Throws Error of
  /// kind environment with the place: a file that is truncated, too long or of another kind,
  /// contradictory sizes, an entry outside .bin or within a token, bytes of .bin that belong to no
  /// entry or to several.
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
  int type_ = 0;                       // the code of the token type
  std::vector<std::int64_t> begins_;   // first token of each sequence, and the number of tokens
  std::vector<std::int64_t> offsets_;  // of each sequence in .bin, in bytes; empty: consecutive
  std::vector<std::int64_t> starts_;
};

/// PREFIX for any of PREFIX, PREFIX.idx and PREFIX.bin.
[[nodiscard]] std::filesystem::path indexed_prefix(const std::filesystem::path& path);
[[nodiscard]] std::filesystem::path index_path(const std::filesystem::path& prefix);
[[nodiscard]] std::filesystem::path tokens_path(const std::filesystem::path& prefix);

// The format of both files, for readers and writers.
inline constexpr std::string_view kIndexMagic{"MMIDIDX\0\0", 9};
inline constexpr std::string_view kOldIndexMagic{"TNTIDX\0\0", 8};
inline constexpr int kInt32Code = 4;
inline constexpr int kUint16Code = 8;
/// The token size, in bytes, of the type with this code; 0 if it does not exist or is not a token
/// type.
[[nodiscard]] std::size_t token_bytes(std::uint64_t code) noexcept;

}  // namespace assay::train::tokens
