#include <memory>
#include <string>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "commands/base/commands.h"
#include "commands/base/extras.h"
#include "commands/base/known_commands.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/help/help_topics.h"
#include "core/error.h"
#include "core/text.h"
#include "page/text_width.h"

namespace assay::commands {

namespace {

int list_topics(const CLI::App& app) {
  tell("Topics:\n");
  for (const HelpTopic& topic : help_topics())
    tell(fmt::format("  {}{}\n", page::pad_right(topic.name, 15), topic.title));
  tell("\nCommands:\n");
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty())
      say("  " + page::pad_right(command->get_name(), 15) + command->get_description() + "\n");
  tell(
      "\n'assay help TOPIC' and 'assay COMMAND --help' say more, 'assay explain NAME' what a "
      "report "
      "says.\n");
  return 0;
}

int show(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return list_topics(app);
  for (const HelpTopic& topic : help_topics()) {
    if (words.size() > 1 || words[0] != topic.name) continue;
    tell(std::string(topic.title) + "\n\n" + topic.text);
    tell("\nRead more in: ");
    say(place_of_page(topic.page) + "\n");
    return 0;
  }
  const CLI::App* command = &app;
  std::string above;  // "assay import"
  std::vector<std::string> names;
  for (const HelpTopic& topic : help_topics()) names.emplace_back(topic.name);
  for (const std::string& word : words) {
    const CLI::App* next = nullptr;
    for (const CLI::App* one : command->get_subcommands({})) {
      if (one->get_name() == word) next = one;
      if (!one->get_group().empty()) names.push_back(one->get_name());
    }
    if (next == nullptr)
      throw Error(ErrorKind::usage,
                  fmt::format("there is no command or topic '{}'{}", printable(word),
                              did_you_mean(word, names)),
                  {}, "'assay help' lists all");
    if (is_elsewhere(*next)) go_on_as_full("'assay " + next->get_name() + "'");
    above += (above.empty() ? "" : " ") + command->get_name();
    command = next;
  }
  say(command->help(above));
  return 0;
}

}  // namespace

void add_help(CLI::App& app, Action& action) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "Show help of a command or about a topic");
  command->add_option("topic", *words, "A command, or one of what 'assay help' lists")
      ->type_name("HELP-TOPIC");
  command->footer("Examples:\n  assay help suite\n  assay help serve user");
  command->callback(
      [words, &app, &action] { action = [words, &app] { return show(app, *words); }; });
}

}  // namespace assay::commands
