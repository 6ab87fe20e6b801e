#include "oidc/oidc_settings.h"

#include <algorithm>

#include "config/mapping.h"
#include "config/yaml.h"
#include "core/address.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "http/url.h"

namespace assay::oidc {

namespace {

using config::Mapping;
using config::Node;

jobs::Role role_at(const Node& node, const std::string& name) {
  const auto role = parse_enum<jobs::Role>(name);
  if (!role) node.fail("not a role: '" + printable(name) + "'", enum_choices<jobs::Role>());
  return *role;
}

// Tokens and secrets must not travel unencrypted, except within this machine.
http::Url address_at(const Node& node) {
  const std::string text = node.nonempty_text();
  if (!text.starts_with("https://") && !text.starts_with("http://"))
    node.fail("not an address: '" + printable(text) + "'", "such as https://login.example.com");
  http::Url url = http::parse_url(text, node.where());
  if (url.origin.starts_with("http://") && !is_this_machine(url.host))
    node.fail("the address must begin with https://",
              "http:// is for addresses of this machine alone");
  return url;
}

// The server answers at the root of its address only, and the provider sends browsers there.
std::string origin_at(const Node& node) {
  const http::Url url = address_at(node);
  if (url.path != "/" || !url.query.empty())
    node.fail("the address of this server has no path: '" + printable(node.text()) + "'",
              "write " + url.origin);
  return url.origin;
}

}  // namespace

std::optional<jobs::Role> OidcSettings::role_of(const std::vector<std::string>& groups) const {
  std::optional<jobs::Role> best;
  for (const auto& [role, wanted] : roles)
    for (const std::string& group : wanted)
      if (std::ranges::find(groups, group) != groups.end())
        best = std::max(best.value_or(role), role);
  return best;
}

OidcSettings read_oidc_settings(const std::filesystem::path& file) {
  static const std::vector<std::string> kKeys{
      "issuer", "client_id",    "client_secret_file", "url",          "title",         "scopes",
      "roles",  "groups_claim", "user_claim",         "new_accounts", "link_existing", "ca_file"};
  const Node root = config::load_yaml(file);
  const Mapping map(root, "the sign-in by a provider", kKeys);
  OidcSettings out;
  out.issuer = map.at("issuer").nonempty_text();
  (void)address_at(map.at("issuer"));
  out.client_id = map.at("client_id").nonempty_text();
  if (const Node* secret = map.find("client_secret_file"))
    out.client_secret = std::string(trim(read_regular_file(secret->nonempty_text())));
  out.url = origin_at(map.at("url"));
  out.title = map.text_or("title", http::parse_url(out.issuer, map.at("issuer").where()).host);
  if (const Node* scopes = map.find("scopes")) {
    out.scopes = scopes->texts();
    if (std::ranges::find(out.scopes, "openid") == out.scopes.end())
      scopes->fail("'openid' is missing in the scopes",
                   "without it a provider does not say who somebody is");
  }
  out.user_claim = map.text_or("user_claim", out.user_claim);
  out.groups_claim = map.text_or("groups_claim", out.groups_claim);
  if (const Node* roles = map.find("roles"))
    for (const config::Entry& entry : roles->entries())
      out.roles[role_at(*roles, entry.key)] = entry.value.texts();
  if (const Node* role = map.find("new_accounts"); role != nullptr && !role->is_off())
    out.new_accounts = role_at(*role, role->text());
  if (const Node* link = map.find("link_existing")) out.link_existing = link->boolean();
  out.ca_file = map.text_or("ca_file", "");
  return out;
}

}  // namespace assay::oidc
