#pragma once

#include <filesystem>

#include "core/files.h"
#include "train/tokens/token_stream.h"

namespace assay::train::tokens {

/// Writes a data set that IndexedSet and Megatron read: MMIDIDX, one sequence a document, uint16
/// for vocabularies below 65,500 and int32 for others. Nothing is there under its own name before
/// finish(): until then PREFIX.bin.part grows, which goes with a writer that is not finished; what
/// one that was killed has left behind the next one takes.
class IndexedWriter final : public TokenSink {
 public:
  /// Throws Error: of kind usage when the set is there and is not to be replaced, of kind
  /// environment when the folder cannot be written or another process writes this set.
  IndexedWriter(const std::filesystem::path& prefix, std::int64_t vocabulary, bool replace);
  ~IndexedWriter() override;

  void append(std::span<const std::int32_t> tokens) override;
  void end_document() override;
  /// Writes the index, syncs both files and gives them their names, the index last.
  void finish();

  [[nodiscard]] std::int64_t documents() const noexcept {
    return static_cast<std::int64_t>(lengths_.size());
  }
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }

 private:
  void flush();
  void write_index(const std::filesystem::path& path) const;

  std::filesystem::path prefix_;
  std::filesystem::path part_;
  UniqueFd fd_;
  int type_;
  std::string buffer_;
  std::vector<std::int32_t> lengths_;  // of the documents
  std::int64_t tokens_ = 0;
  std::int64_t document_begin_ = 0;
  bool finished_ = false;
};

/// Throws Error of kind usage when PREFIX.idx or PREFIX.bin is there.
void require_unwritten(const std::filesystem::path& prefix);

}  // namespace assay::train::tokens
