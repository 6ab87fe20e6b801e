#pragma once

#include <filesystem>

#include "core/files.h"
#include "train/tokens/token_stream.h"

namespace assay::train::tokens {

/// Writes a data set for IndexedSet and Megatron: MMIDIDX, with one sequence per document, uint16
/// for vocabularies below 65,500 and int32 for others. Nothing has its own name before finish():
/// until then PREFIX.bin.part grows, which is removed with an unfinished writer; the next writer
/// reuses one left by a killed process.
class IndexedWriter final : public TokenSink {
 public:
  /// Throws Error of kind usage if the set exists and must not be replaced, of kind environment if
  /// the folder cannot be written to or another process is writing this set.
  IndexedWriter(const std::filesystem::path& prefix, std::int64_t vocabulary, bool replace);
  ~IndexedWriter() override;

  void append(std::span<const std::int32_t> tokens) override;
  void end_document() override;
  /// Writes the index, syncs both files and renames them, the index last.
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

/// Throws Error of kind usage if PREFIX.idx or PREFIX.bin exists.
void require_unwritten(const std::filesystem::path& prefix);

}  // namespace assay::train::tokens
