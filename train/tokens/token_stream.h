#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace assay::train::tokens {

/// Tokens of documents, one document after the other. Immutable, usable by any thread.
class TokenStream {
 public:
  TokenStream() = default;
  TokenStream(const TokenStream&) = delete;
  TokenStream& operator=(const TokenStream&) = delete;
  virtual ~TokenStream() = default;

  /// Tokens of all documents.
  [[nodiscard]] std::int64_t size() const noexcept { return starts().back(); }
  /// Where documents start, ascending, the first 0, and behind them size(): one more than there
  /// are documents. A document is not empty.
  [[nodiscard]] virtual std::span<const std::int64_t> starts() const noexcept = 0;
  /// Copies the tokens first…first+count-1, which there are. Throws Error of kind environment with
  /// the place of a token that is not from 0 to `vocabulary` - 1.
  virtual void read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                    std::int32_t* out) const = 0;
};

/// Takes the tokens of documents in order.
class TokenSink {
 public:
  TokenSink() = default;
  TokenSink(const TokenSink&) = delete;
  TokenSink& operator=(const TokenSink&) = delete;
  virtual ~TokenSink() = default;

  virtual void append(std::span<const std::int32_t> tokens) = 0;
  /// A document without tokens is none.
  virtual void end_document() = 0;
};

/// Tokens in memory, four bytes each.
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

/// Several streams as one.
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

/// The Error for a token that is not of the vocabulary.
[[noreturn]] void outside_vocabulary(std::int64_t token, std::int64_t vocabulary,
                                     const std::string& where);

}  // namespace assay::train::tokens
