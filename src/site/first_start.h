#pragma once

#include <filesystem>
#include <string>

#include "accounts/accounts.h"

namespace assay::site {

/// The accounts of a data folder; made where there are none.
[[nodiscard]] std::filesystem::path accounts_file(const std::filesystem::path& data);

/// Makes the first administrator where there is nobody.
void make_first_admin(accounts::Accounts& accounts, jobs::WallTime now_ns);

/// An administrator who can sign in: the first one, or another.
[[nodiscard]] std::string some_admin(accounts::Accounts& accounts);

/// DATA/admin.token: for commands of the same user on the same machine. Made anew where it is
/// missing or not valid any more.
void keep_admin_token(const std::filesystem::path& data, accounts::Accounts& accounts,
                      jobs::WallTime now_ns);

/// "URL/#/sign-in?link=…" for somebody.
[[nodiscard]] std::string sign_in_address(accounts::Accounts& accounts, const std::string& url,
                                          const std::string& user, jobs::WallTime now_ns);

/// DATA/server.json, while a server runs: where it is.
void write_server_file(const std::filesystem::path& data, const std::string& url);
void remove_server_file(const std::filesystem::path& data);
/// The address in it; empty where no server runs.
[[nodiscard]] std::string running_server(const std::filesystem::path& data);

}  // namespace assay::site
