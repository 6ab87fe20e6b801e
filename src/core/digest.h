#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/hex.h"

namespace assay {

enum class Hash { md5, sha1, sha256 };

/// An incremental hash. Allocates once, on construction.
class Digest {
 public:
  explicit Digest(Hash hash);
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  ~Digest();

  void update(std::string_view data);
  /// Returns the raw bytes and resets the hash.
  [[nodiscard]] std::string finish();
  /// Discards everything added so far.
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The raw bytes.
[[nodiscard]] std::string digest(Hash hash, std::string_view data);
[[nodiscard]] std::string hmac(Hash hash, std::string_view key, std::string_view data);

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Returns nothing unless `text` is exactly what to_base64 produces for some bytes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace assay
