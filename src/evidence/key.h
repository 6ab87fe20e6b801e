#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace assay::evidence {

/// A public Ed25519 key as text: "ed25519:" and the base64 of its 32 bytes.
/// Whether `text` is one.
[[nodiscard]] bool is_public_key(std::string_view text);

/// The text that people compare: "SHA256:" and the base64, without padding, of the SHA-256 of the
/// key's 32 bytes. Empty if `public_key` is not a key.
[[nodiscard]] std::string fingerprint(std::string_view public_key);

/// A private Ed25519 key. Signs on any thread, one at a time.
class SigningKey {
 public:
  /// A new key, from the system's randomness.
  [[nodiscard]] static SigningKey generate();
  /// From PEM text (PKCS #8). Throws Error of kind config at `where`.
  [[nodiscard]] static SigningKey from_pem(std::string_view pem, const std::string& where);
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  [[nodiscard]] std::string to_pem() const;
  [[nodiscard]] const std::string& public_key() const noexcept { return public_key_; }
  /// Base64 of the 64 bytes.
  [[nodiscard]] std::string sign(std::string_view data) const;

 private:
  struct Handle;
  explicit SigningKey(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
  std::string public_key_;
};

/// Whether `signature` (base64) is that of `data` by the owner of `public_key`. False for anything
/// that is not a key or not a signature.
[[nodiscard]] bool is_signed_by(std::string_view public_key, std::string_view data,
                                std::string_view signature);

}  // namespace assay::evidence
