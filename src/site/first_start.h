#pragma once

#include <filesystem>
#include <string>

#include "accounts/accounts.h"

namespace assay::site {

/// Opens the accounts of a data folder, which it creates if there are none.
[[nodiscard]] std::filesystem::path accounts_file(const std::filesystem::path& data);

/// Creates the first administrator if there are no people.
void make_first_admin(accounts::Accounts& accounts, jobs::WallTime now_ns);

/// The name of an administrator who can sign in: the first one or another.
[[nodiscard]] std::string some_admin(accounts::Accounts& accounts);

/// DATA/admin.token, for commands of the same user on the same machine. Replaces it if it is
/// missing or no longer valid.
void keep_admin_token(const std::filesystem::path& data, accounts::Accounts& accounts,
                      jobs::WallTime now_ns);

/// A link for a person to sign in: "URL/#/sign-in?link=…".
[[nodiscard]] std::string sign_in_address(accounts::Accounts& accounts, const std::string& url,
                                          const std::string& user, jobs::WallTime now_ns);

/// DATA/server.json, which holds the address of a running server.
void write_server_file(const std::filesystem::path& data, const std::string& url);
void remove_server_file(const std::filesystem::path& data);
/// Reads the address; empty if no server runs.
[[nodiscard]] std::string running_server(const std::filesystem::path& data);

}  // namespace assay::site
