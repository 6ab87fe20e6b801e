#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

struct evp_pkey_st;

namespace assay::oidc {

/// Base64url as in RFC 4648, section 5, without padding.
[[nodiscard]] std::string to_base64url(std::string_view bytes);
/// Nothing unless to_base64url() gives `text` for some bytes.
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);

/// The public keys of a provider, with which its signatures are checked (RFC 7517).
class KeySet {
 public:
  /// Takes RSA keys of 2,048 bits or more and keys on the curve P-256, and ignores keys of other
  /// kinds and for other uses. Throws Error of kind environment for anything but a set of keys.
  [[nodiscard]] static KeySet parse(const Json& json, const std::string& where);

  /// An empty id means the only key of the set.
  [[nodiscard]] bool has(const std::string& id) const { return find(id) != nullptr; }
  /// Whether the key has made this signature with the algorithm, RS256 or ES256 (RFC 7518). The
  /// algorithm must fit the key's kind, so that a token cannot choose how it is checked.
  [[nodiscard]] bool is_signed(const std::string& id, std::string_view algorithm,
                               std::string_view text, std::string_view signature) const;

 private:
  struct Key {
    std::string algorithm{};
    std::shared_ptr<evp_pkey_st> key{};
  };
  [[nodiscard]] const Key* find(const std::string& id) const;
  std::multimap<std::string, Key> keys_;
};

}  // namespace assay::oidc
