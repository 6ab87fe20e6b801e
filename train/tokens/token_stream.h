#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace assay::train::tokens {

/// The tokens of consecutive documents. Immutable; usable by any thread.
class TokenStream {
 public:
  TokenStream() = default;
  TokenStream(const TokenStream&) = delete;
  TokenStream& operator=(const TokenStream&) = delete;
  virtual ~TokenStream() = default;

  /// The number of tokens in all documents.
  [[nodiscard]] std::int64_t size() const noexcept { return starts().back(); }
  /// The starts of documents, ascending from 0, followed by size(): one more than there are
  /// documents. No document is empty.
  [[nodiscard]] virtual std::span<const std::int64_t> starts() const noexcept = 0;
  /// Copies the tokens first…first+count-1, which must exist. Throws Error of kind environment with
  /// the place of a token outside 0 … `vocabulary` - 1.
  virtual void read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                    std::int32_t* out) const = 0;
};

/// Receives the tokens of documents in order.
class TokenSink {
 public:
  TokenSink() = default;
  TokenSink(const TokenSink&) = delete;
  TokenSink& operator=(const TokenSink&) = delete;
  virtual ~TokenSink() = default;

  virtual void append(std::span<const std::int32_t> tokens) = 0;
  /// Ignores a document without tokens.
  virtual void end_document() = 0;
};

/// Tokens in memory, at four bytes each.
class MemoryTokens final : public TokenStream, public TokenSink {
 public:
  [[nodiscard]] std::span<const std::int64_t> starts() const noexcept override { return starts_; }
  void read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
            std::int32_t* out) const override;
  void append(std::span<const std::int32_t> tokens) override;
  void end_document() override;

 private:
  std::vector<std::int32_t> tokens_;
  std::vector<std::int64_t> starts_{0};
};

/// Several streams joined into one.
class JoinedTokens final : public TokenStream {
 public:
  explicit JoinedTokens(std::vector<std::unique_ptr<const TokenStream>> parts);
  [[nodiscard]] std::span<const std::int64_t> starts() const noexcept override { return starts_; }
  void read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
            std::int32_t* out) const override;

 private:
  std::vector<std::unique_ptr<const TokenStream>> parts_;
  std::vector<std::int64_t> begins_;  // of each part
  std::vector<std::int64_t> starts_{0};
};

/// Throws the Error for a token outside the vocabulary.
[[noreturn]] void outside_vocabulary(std::int64_t token, std::int64_t vocabulary,
                                     const std::string& where);

}  // namespace assay::train::tokens
