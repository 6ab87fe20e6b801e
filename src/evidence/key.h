#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace assay::evidence {

/// Whether `text` is a public Ed25519 key: "ed25519:" and the base64 of its 32 bytes.
[[nodiscard]] bool is_public_key(std::string_view text);

/// The form for comparing keys by eye: "SHA256:" and the base64, without padding, of the SHA-256 of
/// the key's 32 bytes. Empty when `public_key` is not a key.
[[nodiscard]] std::string fingerprint(std::string_view public_key);

/// A private Ed25519 key. Any thread may sign, one at a time.
class SigningKey {
 public:
  /// Creates a key from the system's randomness.
  [[nodiscard]] static SigningKey generate();
  /// Reads PEM text (PKCS #8). Throws Error of kind config at `where`.
  [[nodiscard]] static SigningKey from_pem(std::string_view pem, const std::string& where);
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  [[nodiscard]] std::string to_pem() const;
  [[nodiscard]] const std::string& public_key() const noexcept { return public_key_; }
  /// The signature's 64 bytes in base64.
  [[nodiscard]] std::string sign(std::string_view data) const;

 private:
  struct Handle;
  explicit SigningKey(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
  std::string public_key_;
};

/// Whether `signature` (base64) was made for `data` by the owner of `public_key`. False for an
/// invalid key or signature.
[[nodiscard]] bool is_signed_by(std::string_view public_key, std::string_view data,
                                std::string_view signature);

}  // namespace assay::evidence
