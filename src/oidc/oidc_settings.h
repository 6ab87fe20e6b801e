#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/permissions.h"

namespace assay::oidc {

/// An operator's settings for the sign-in with an OpenID provider (docs/platform.md):
///
///     issuer: https://login.example.com
///     client_id: assay
///     client_secret_file: /etc/assay/oidc.secret
///     url: https://assay.example.com         # this server, as browsers see it
struct OidcSettings {
  std::string issuer{};
  std::string client_id{};
  std::string client_secret{};  ///< empty for a public client
  std::string url{};            ///< this server's origin
  std::string title{};          ///< of the button; empty: the issuer's host
  std::vector<std::string> scopes{"openid", "profile", "email"};
  std::string user_claim = "preferred_username";  ///< names a new account
  std::string groups_claim = "groups";
  /// The groups that give each role; applied at every sign-in.
  std::map<jobs::Role, std::vector<std::string>> roles{};
  /// The role of people whose groups give none. Without it, only people with an account or with a
  /// role from a group may sign in.
  std::optional<jobs::Role> new_accounts{};
  bool link_existing = false;  ///< take over a local account with the same name
  std::filesystem::path ca_file{};

  /// The highest role that these groups give; nothing if they give none.
  [[nodiscard]] std::optional<jobs::Role> role_of(const std::vector<std::string>& groups) const;
};

/// Throws Error of kind config at file:line:column.
[[nodiscard]] OidcSettings read_oidc_settings(const std::filesystem::path& file);

}  // namespace assay::oidc
