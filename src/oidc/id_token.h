#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "oidc/key_set.h"

namespace assay::oidc {

/// What the token of a sign-in must say.
struct Expected {
  std::string issuer{};
  std::string client{};
  std::string nonce{};
  std::int64_t now_s = 0;  ///< since 1970
};

/// The id of the key with which a token claims to be signed. Empty if it names none, or is not a
/// token.
[[nodiscard]] std::string key_id_of(const std::string& token);

/// The claims of an ID token (OpenID Connect Core 1.0, 3.1.3.7). Checks that one of the keys has
/// signed it, that it is for this client and this request, and that it is valid now; the clocks may
/// differ by two minutes. Otherwise throws Error of kind environment, which says what is wrong.
[[nodiscard]] Json check_id_token(const std::string& token, const KeySet& keys,
                                  const Expected& expected);

}  // namespace assay::oidc
