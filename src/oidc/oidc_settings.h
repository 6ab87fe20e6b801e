#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/permissions.h"

namespace assay::oidc {

/// How people sign in by an OpenID provider, as an operator writes it (docs/platform.md):
///
///     issuer: https://login.example.com
///     client_id: assay
///     client_secret_file: /etc/assay/oidc.secret
///     url: https://assay.example.com         # this server, as browsers see it
struct OidcSettings {
  std::string issuer{};
  std::string client_id{};
  std::string client_secret{};  ///< empty: a public client
  std::string url{};            ///< origin of this server
  std::string title{};          ///< on the button; else the issuer's host
  std::vector<std::string> scopes{"openid", "profile", "email"};
  std::string user_claim = "preferred_username";  ///< becomes the name of a new account
  std::string groups_claim = "groups";
  std::map<jobs::Role, std::vector<std::string>> roles{};  ///< by groups, at every sign-in
  /// Of whom no group gives a role; nothing: only who has an account, or a role by a group.
  std::optional<jobs::Role> new_accounts{};
  bool link_existing = false;  ///< whether an account that has the name is taken over
  std::filesystem::path ca_file{};

  /// By the groups of somebody, the highest; nothing: none gives one.
  [[nodiscard]] std::optional<jobs::Role> role_of(const std::vector<std::string>& groups) const;
};

/// Throws Error of kind config at file:line:column.
[[nodiscard]] OidcSettings read_oidc_settings(const std::filesystem::path& file);

}  // namespace assay::oidc
