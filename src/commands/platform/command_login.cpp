#include <cctype>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <sys/stat.h>

#include "commands/base/commands.h"
#include "commands/base/hidden_input.h"
#include "commands/base/known_commands.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/platform/platform_client.h"
#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "core/time.h"
#include "http/url.h"

namespace assay::commands {

namespace {

struct LoginArguments {
  std::string url;
  std::string ca;
  std::string user;
  std::string token_file;
};

// Tells the person's tokens apart, and one login of a machine from the next.
std::string token_name() {
  std::string host = host_name().substr(0, 40);
  for (char& c : host)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '-';
  const std::int64_t now_ns = wall_now_ns();
  return fmt::format("login-{}-{}-{:03}", host, compact_utc(now_ns), now_ns / 1'000'000 % 1000);
}

void warn_if_others_read(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 077) != 0)
    tell_error(fmt::format("assay: warning: others can read {}: chmod 600 it\n", file));
}

int login(const LoginArguments& given) {
  const client::ServerPlaces places = client::usual_places();
  if (places.login_file.empty())
    throw Error(ErrorKind::environment, "there is no place for the login: HOME is not set");
  client::Server server{http::parse_url(given.url, "URL").origin, {}, given.ca, "the command line"};
  if (!client::is_private(server))
    tell_error(fmt::format("assay: warning: {} has no TLS: the token can be read on the way\n",
                           server.url));
  if (!given.user.empty()) {
    const std::string password = ask_hidden_line("Password");
    server.token = client::Client(server).make_token(given.user, password, token_name());
  } else if (!given.token_file.empty()) {
    warn_if_others_read(given.token_file);
    server.token = std::string(trim(read_given_file(given.token_file)));
  } else {
    server.token = places.variable("ASSAY_TOKEN");
    if (server.token.empty()) server.token = ask_hidden_line("Token");
  }
  const client::SessionAnswer session = client::Client(server).session().value;
  client::write_login(places.login_file, server);
  tell(fmt::format("Signed in to {} as {} ({}). The token is in {}.\n", server.url,
                   printable(session.user), printable(session.role), places.login_file.string()));
  return 0;
}

}  // namespace

void add_login(CLI::App& app, Action& action) {
  const auto given = std::make_shared<LoginArguments>();
  CLI::App* command = add_known(app, "login");
  command->add_option("url", given->url, "Address of the server")->required()->type_name("URL");
  CLI::Option* user = command->add_option("--user", given->user,
                                          "Sign in with this name and a password, which is asked "
                                          "for; a token is made for this machine");
  user->type_name("NAME");
  command->add_option("--token-file", given->token_file, "File with a token")
      ->type_name("FILE")
      ->excludes(user);
  command->add_option("--ca", given->ca, "Certificate to trust, PEM; else the system's")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  assay login https://assay.example.com --user ann\n"
      "  ASSAY_TOKEN=… assay login http://127.0.0.1:8480\n"
      "\n"
      "Without --user and --token-file, the token is ASSAY_TOKEN or asked for. It is tried, and\n"
      "kept in ~/.config/assay/server.json, which only you can read.");
  command->callback([given, &action] { action = [given] { return login(*given); }; });
}

}  // namespace assay::commands
