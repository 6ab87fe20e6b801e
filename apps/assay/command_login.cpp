#include <cctype>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "commands.h"
#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "core/time.h"
#include "http/url.h"
#include "paths.h"
#include "platform_client.h"
#include "terminal.h"

namespace assay::app {

namespace {

struct LoginArguments {
  std::string url;
  std::string ca;
  std::string user;
  std::string token_file;
};

// Reads a line from stdin; typing on a terminal is not echoed.
std::string ask_secret(const std::string& what) {
  termios shown{};
  const bool typed = ::tcgetattr(STDIN_FILENO, &shown) == 0;
  if (typed) {
    termios hidden = shown;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    fmt::print(stderr, "{}: ", what);
    std::fflush(stderr);
    (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  std::string line;
  const bool got = static_cast<bool>(std::getline(std::cin, line));
  if (typed) {
    (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    fmt::print(stderr, "\n");
  }
  line = std::string(trim(line));
  if (!got || line.empty())
    throw Error(ErrorKind::usage, "a " + to_lower(what) + " is expected on standard input");
  return line;
}

// Distinguishes the person's tokens, and repeated logins from one machine.
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
    const std::string password = ask_secret("Password");
    server.token = client::Client(server).make_token(given.user, password, token_name());
  } else if (!given.token_file.empty()) {
    warn_if_others_read(given.token_file);
    server.token = std::string(trim(read_given_file(given.token_file)));
  } else {
    server.token = places.variable("ASSAY_TOKEN");
    if (server.token.empty()) server.token = ask_secret("Token");
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
  CLI::App* command =
      app.add_subcommand("login", "Sign in to a server of the platform, for the commands here");
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

}  // namespace assay::app
