#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

struct evp_pkey_st;

namespace assay::oidc {

/// RFC 4648, section 5, without padding.
[[nodiscard]] std::string to_base64url(std::string_view bytes);
/// Nothing unless `text` is what to_base64url makes of some bytes.
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);

/// The public keys that a provider signs with (RFC 7517).
class KeySet {
 public:
  /// Takes RSA keys of 2,048 bits or more and keys on the curve P-256; keys of other kinds and for
  /// other uses are left out. Throws Error of kind environment for anything but a set of keys.
  [[nodiscard]] static KeySet parse(const Json& json, const std::string& where);

  /// An empty id stands for the only key.
  [[nodiscard]] bool has(const std::string& id) const { return find(id) != nullptr; }
  /// Whether the key made this signature by the algorithm, RS256 or ES256 (RFC 7518). A key is of
  /// one kind, so that no token can choose how it is checked.
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
