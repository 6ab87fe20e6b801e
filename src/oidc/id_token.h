#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "oidc/key_set.h"

namespace assay::oidc {

/// The claims of a requested token.
struct Expected {
  std::string issuer{};
  std::string client{};
  std::string nonce{};
  std::int64_t now_s = 0;  ///< since 1970
};

/// Which key a token says that it was signed with. Empty: it does not say, or is no token.
[[nodiscard]] std::string key_id_of(const std::string& token);

/// The claims of an ID token (OpenID Connect Core 1.0, 3.1.3.7) that was signed with one of the
/// keys, is for this client and this request, and is valid now; clocks may differ by two minutes.
/// Throws Error of kind environment that says what is wrong.
[[nodiscard]] Json check_id_token(const std::string& token, const KeySet& keys,
                                  const Expected& expected);

}  // namespace assay::oidc
