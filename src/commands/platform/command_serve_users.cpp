#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include "accounts/accounts.h"
#include "accounts/password.h"
#include "commands/base/commands.h"
#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "site/first_start.h"
#include "tester/data_folder.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

struct UserArguments {
  std::string data = "tester";
  std::string name;
  std::string full_name;
  std::string role = "member";
  std::string format = "text";
};

// Works beside a running server. A wrong name must not create a folder.
accounts::Accounts accounts_of(const UserArguments& given) {
  const fs::path file = site::accounts_file(given.data);
  if (!fs::exists(file))
    throw Error(ErrorKind::usage, "there are no accounts in this folder", given.data,
                "'assay serve --data DIR' makes them at its first start");
  const tester::OwnerOnly files;
  return accounts::Accounts(file);
}

accounts::Person person_of(accounts::Accounts& accounts, const std::string& name) {
  auto person = accounts.find(name);
  if (!person) throw Error(ErrorKind::usage, fmt::format("there is no user '{}'", printable(name)));
  return *person;
}

// Read from the terminal without echo, or as a line of standard input.
std::string asked_password() {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  termios before{};
  if (terminal) {
    tell("Password: ");
    std::cout.flush();
    ::tcgetattr(STDIN_FILENO, &before);
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  std::string out;
  std::getline(std::cin, out);
  if (terminal) {
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    tell("\n");
  }
  return out;
}

void say_link(accounts::Accounts& accounts, const UserArguments& given, const std::string& user) {
  const std::string url = site::running_server(given.data);
  if (url.empty())
    throw Error(ErrorKind::usage, "no server runs from this folder", given.data,
                "start 'assay serve', then ask again: a link is good for 15 minutes");
  say(site::sign_in_address(accounts, url, user, wall_now_ns()) + "\n");
}

int link_for(const UserArguments& given) {
  accounts::Accounts accounts = accounts_of(given);
  const std::string user = given.name.empty() ? site::some_admin(accounts) : given.name;
  if (person_of(accounts, user).disabled)
    throw Error(ErrorKind::usage, fmt::format("'{}' is disabled", user), {},
                "'assay serve user enable NAME' changes that");
  say_link(accounts, given, user);
  return 0;
}

int add_user(const UserArguments& given) {
  accounts::Accounts accounts = accounts_of(given);
  if (accounts.find(given.name))
    throw Error(ErrorKind::usage, fmt::format("there is a user '{}' already", given.name));
  accounts.put({.name = given.name,
                .full_name = given.full_name,
                .role = parse_enum<jobs::Role>(given.role).value_or(jobs::Role::member)},
               wall_now_ns());
  tell(
      fmt::format("'{}' can sign in with 'assay serve link --user {}', or after 'assay serve user "
                  "password {}'.\n",
                  given.name, given.name, given.name));
  return 0;
}

int list_users(const UserArguments& given) {
  accounts::Accounts accounts = accounts_of(given);
  Json all = Json::array();
  for (const accounts::Person& person : accounts.people()) {
    if (given.format == "json") {
      all.push_back({{"name", person.name},
                     {"full_name", person.full_name},
                     {"role", to_text(person.role)},
                     {"disabled", person.disabled},
                     {"password_set", person.has_password},
                     {"teams", person.teams}});
      continue;
    }
    tell(fmt::format("{}  {}{}{}{}\n", person.name, to_text(person.role),
                     person.disabled ? "  disabled" : "",
                     person.teams.empty() ? "" : "  " + join(person.teams, ","),
                     person.full_name.empty() ? "" : "  " + person.full_name));
  }
  if (given.format == "json") say(dump_pretty(all));
  return 0;
}

int set_password(const UserArguments& given) {
  accounts::Accounts accounts = accounts_of(given);
  (void)person_of(accounts, given.name);
  accounts.set_password(given.name, asked_password());
  return 0;
}

int set_disabled(const UserArguments& given, bool disabled) {
  accounts::Accounts accounts = accounts_of(given);
  accounts::Person person = person_of(accounts, given.name);
  person.disabled = disabled;
  accounts.put(person, wall_now_ns());
  return 0;
}

}  // namespace

void add_serve_users(CLI::App& serve, Action& action) {
  const auto given = std::make_shared<UserArguments>();
  const auto command = [&](CLI::App& parent, const char* name, const char* what,
                           const char* example, auto run) {
    CLI::App* made = parent.add_subcommand(name, what);
    made->add_option("--data", given->data, "The server's folder")
        ->type_name("DIR")
        ->capture_default_str();
    made->footer(std::string("Example:\n  assay serve ") + example);
    made->callback([given, run, &action] { action = [given, run] { return run(*given); }; });
    return made;
  };
  command(serve, "link", "Print an address that signs somebody in, once", "link --user ann",
          link_for)
      ->add_option("--user", given->name, "Whom; else an administrator")
      ->type_name("NAME");
  CLI::App* user = serve.add_subcommand("user", "Make, show or change the users of the platform");
  user->require_subcommand(1);
  const auto of_one = [&](const char* name, const char* what, const char* example, auto run) {
    CLI::App* made = command(*user, name, what, example, run);
    made->add_option("name", given->name, "The user")->required();
    return made;
  };
  CLI::App* add =
      of_one("add", "Make a user", "user add ann --role member --full-name 'Ann Lee'", add_user);
  add->add_option("--role", given->role, "What they may do")
      ->check(CLI::IsMember({"viewer", "member", "admin"}))
      ->capture_default_str();
  add->add_option("--full-name", given->full_name, "As people call them")->type_name("TEXT");
  command(*user, "list", "Show all users", "user list", list_users)
      ->add_option("--format", given->format, "Of the output")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  of_one("password", "Set a password: asks for it, or reads a line of standard input",
         "user password ann", set_password);
  of_one("disable", "Sign a user out, and let them in no more", "user disable ann",
         [](const UserArguments& wanted) { return set_disabled(wanted, true); });
  of_one("enable", "Let a disabled user in again", "user enable ann",
         [](const UserArguments& wanted) { return set_disabled(wanted, false); });
}

}  // namespace assay::commands
