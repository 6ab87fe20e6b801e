#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/hidden_input.h"
#include "commands/base/known_commands.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/platform/job_display.h"
#include "commands/platform/platform_client.h"
#include "core/json_access.h"
#include "core/text.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

// The server takes no more, and says so; what is larger need not go there.
constexpr std::size_t kMostRead = 64U << 10;

struct SecretArguments {
  ServerOptions server;
  std::string name;
  std::string team;
  std::string file;
};

void refuse_value(const std::string& name) {
  if (name.find('=') != std::string::npos)
    throw Error(ErrorKind::usage, "a secret's value is never an argument: others see those", {},
                "'assay secret set NAME' reads it from standard input, or from --file");
}

int set_secret(const SecretArguments& given) {
  refuse_value(given.name);
  const std::string value = given.file.empty() ? ask_hidden_text("Value", kMostRead)
                                               : without_line_break(read_given_file(given.file));
  if (value.size() > kMostRead) throw Error(ErrorKind::usage, "a secret has at most 32 KiB");
  make_client(given.server).put_secret(given.team, given.name, value);
  if (!given.server.json())
    tell(fmt::format("The secret '{}' is kept. 'assay submit --secret {}' gives it to a job.\n",
                     lang::name(printable(given.name)), lang::name(printable(given.name))));
  return 0;
}

int list_secrets(const SecretArguments& given) {
  const Json answer = make_client(given.server).secrets();
  if (given.server.json()) {
    say(dump_pretty(answer));
    return 0;
  }
  page::Table table{
      {{.title = "NAME"}, {.title = "TEAM"}, {.title = "SET BY"}, {.title = "SET"}, {.title = ""}}};
  for (const Json& one : list_at(answer, "secrets")) {
    const std::string scope = text_at(one, "scope");
    const std::string team = scope.starts_with("team:") ? scope.substr(5) : "–";
    table.rows.push_back({{page::name(printable(text_at(one, "name"))), page::name(printable(team)),
                           page::name(printable(text_at(one, "author"))),
                           printable(text_at(one, "changed").substr(0, 16)),
                           one.value("usable", true) ? "" : "cannot be decrypted"}});
  }
  if (table.rows.empty())
    tell("No secrets. 'assay secret set NAME' keeps one.\n");
  else
    say(fitted(table));
  return 0;
}

int remove_secret(const SecretArguments& given) {
  refuse_value(given.name);
  make_client(given.server).remove_secret(given.team, given.name);
  if (!given.server.json())
    tell(fmt::format("The secret '{}' is removed. Jobs that name it do not start any more.\n",
                     lang::name(printable(given.name))));
  return 0;
}

}  // namespace

void add_secret(CLI::App& app, Action& action) {
  const auto given = std::make_shared<SecretArguments>();
  CLI::App* command = add_known(app, "secret");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* about, int (*what)(const SecretArguments&)) {
    CLI::App* sub = command->add_subcommand(name, about);
    add_server_options(*sub, given->server);
    sub->callback([given, what, &action] { action = [given, what] { return what(*given); }; });
    return sub;
  };
  const auto named = [&](CLI::App* sub) {
    sub->add_option("name", given->name, "Its name")->required()->type_name("NAME");
    sub->add_option("--team", given->team, "Of a team of yours; else your own")->type_name("TEAM");
  };
  CLI::App* set = add("set", "Keep a secret, or give it another value", set_secret);
  named(set);
  set->add_option("--file", given->file, "File with the value; else it is read from standard input")
      ->type_name("FILE");
  add("list", "Names of the secrets that there are", list_secrets);
  named(add("rm", "Remove a secret", remove_secret));
  command->footer(
      std::string("Examples:\n"
                  "  assay secret set HF_TOKEN\n"
                  "  assay secret set deploy-key --file ~/.ssh/deploy --team vision\n"
                  "  assay submit train.yaml --secret HF_TOKEN --secret deploy-key=DEPLOY_KEY\n"
                  "  assay secret list\n") +
      kServerHelp);
}

}  // namespace assay::commands
