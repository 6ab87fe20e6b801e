#include "oidc/id_token.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/json_access.h"

namespace assay::oidc {

namespace {

constexpr std::int64_t kClocksApartS = 120;
constexpr std::size_t kMaxToken = 64U << 10;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::environment, "the provider's token cannot be trusted: " + why);
}

struct Parts {
  Json header{};
  Json claims{};
  std::string_view signed_text{};
  std::string signature{};
};

std::optional<Parts> parts_of(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  if (token.size() > kMaxToken || first == std::string_view::npos ||
      second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos)
    return std::nullopt;
  const auto header = from_base64url(token.substr(0, first));
  const auto claims = from_base64url(token.substr(first + 1, second - first - 1));
  auto signature = from_base64url(token.substr(second + 1));
  if (!header || !claims || !signature) return std::nullopt;
  Parts out{parse_json_or_null(*header), parse_json_or_null(*claims), token.substr(0, second),
            std::move(*signature)};
  if (!out.header.is_object() || !out.claims.is_object()) return std::nullopt;
  return out;
}

// One audience, or a list of them together with this client as the authorized party.
bool is_for(const Json& claims, const std::string& client) {
  const Json& audience = member_at(claims, "aud");
  const std::string asked_by = text_at(claims, "azp");
  if (audience.is_string())
    return audience.get<std::string>() == client && (asked_by.empty() || asked_by == client);
  if (!audience.is_array()) return false;
  const bool named = std::ranges::any_of(audience, [&](const Json& one) {
    return one.is_string() && one.get<std::string>() == client;
  });
  return named && (asked_by == client || (asked_by.empty() && audience.size() == 1));
}

}  // namespace

std::string key_id_of(const std::string& token) {
  const auto parts = parts_of(token);
  return parts ? text_at(parts->header, "kid") : "";
}

Json check_id_token(const std::string& token, const KeySet& keys, const Expected& expected) {
  const auto parts = parts_of(token);
  if (!parts) refuse("it is not a signed token");
  // An extension that a reader must understand, and this one does not.
  if (parts->header.contains("crit")) refuse("it wants an extension of signatures");
  if (!keys.is_signed(text_at(parts->header, "kid"), text_at(parts->header, "alg"),
                      parts->signed_text, parts->signature))
    refuse("its signature is not by one of the provider's keys");
  const Json& claims = parts->claims;
  if (text_at(claims, "iss") != expected.issuer) refuse("it is another issuer's");
  if (!is_for(claims, expected.client)) refuse("it is not for this server");
  const auto expires = integer_at(claims, "exp");
  const auto issued = integer_at(claims, "iat");
  if (!expires || !issued) refuse("it has no time");
  if (*expires < expected.now_s - kClocksApartS) refuse("it has expired");
  if (*issued > expected.now_s + kClocksApartS) refuse("it is from the future");
  if (expected.nonce.empty() || text_at(claims, "nonce") != expected.nonce)
    refuse("it answers another request");
  if (text_at(claims, "sub").empty()) refuse("it does not say who");
  return claims;
}

}  // namespace assay::oidc
