#include "site/first_start.h"

#include <csignal>

#include <unistd.h>

#include "core/error.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "tester/data_folder.h"

namespace assay::site {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTokenName = "this-machine";

}  // namespace

fs::path accounts_file(const fs::path& data) {
  return data / "accounts.db";
}

void make_first_admin(accounts::Accounts& accounts, jobs::WallTime now_ns) {
  if (accounts.people().empty())
    accounts.put({.name = accounts::kFirstAdmin, .role = jobs::Role::admin}, now_ns);
}

std::string some_admin(accounts::Accounts& accounts) {
  std::string found;
  for (const accounts::Person& person : accounts.people()) {
    if (person.role != jobs::Role::admin || person.disabled) continue;
    if (found.empty() || person.name == accounts::kFirstAdmin) found = person.name;
  }
  if (found.empty())
    throw Error(ErrorKind::environment, "there is no administrator in the database of accounts");
  return found;
}

void keep_admin_token(const fs::path& data, accounts::Accounts& accounts, jobs::WallTime now_ns) {
  const fs::path file = data / "admin.token";
  const std::string text = read_regular_file_or_empty(file);
  if (accounts.token_use(trim(text), now_ns)) return;
  const std::string admin = some_admin(accounts);
  accounts.revoke_token(admin, kTokenName);
  tester::write_private(file, accounts.make_token(admin, kTokenName, 0, now_ns) + "\n");
}

std::string sign_in_address(accounts::Accounts& accounts, const std::string& url,
                            const std::string& user, jobs::WallTime now_ns) {
  return url + "/#/sign-in?link=" + accounts.make_link(user, now_ns);
}

void write_server_file(const fs::path& data, const std::string& url) {
  tester::write_private(data / "server.json", dump_pretty({{"url", url}, {"pid", ::getpid()}}));
}

void remove_server_file(const fs::path& data) {
  std::error_code ignored;
  fs::remove(data / "server.json", ignored);
}

std::string running_server(const fs::path& data) {
  const Json json = parse_json_or_null(read_regular_file_or_empty(data / "server.json"));
  if (!json.is_object() || !json.contains("url") || !json["url"].is_string()) return {};
  const auto pid = json.value("pid", Json(0));
  if (!pid.is_number_integer() || ::kill(pid.get<pid_t>(), 0) != 0) return {};
  return json["url"].get<std::string>();
}

}  // namespace assay::site
