#include "commands/base/speak.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "commands/base/help_format.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

using lang::tr;

constexpr std::string_view kOption = "--lang";

std::optional<std::string> environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Parsing the command line may already print help, so its language must be known before.
std::string asked_for(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    if (word == kOption && i + 1 < argc) return argv[i + 1];
    if (word.starts_with(kOption) && word.substr(kOption.size()).starts_with('='))
      return std::string(word.substr(kOption.size() + 1));
  }
  return {};
}

// The words in the parser's own help.
constexpr std::array<std::pair<const char*, const char*>, 8> kLabels{{{"Usage", "Usage"},
                                                                      {"OPTIONS", "OPTIONS"},
                                                                      {"SUBCOMMAND", "COMMAND"},
                                                                      {"SUBCOMMANDS", "COMMANDS"},
                                                                      {"Positionals", "Arguments"},
                                                                      {"Options", "Options"},
                                                                      {"REQUIRED", "REQUIRED"},
                                                                      {"Env", "Env"}}};

std::string translated_group(const std::string& group) {
  return group.empty() ? group : tr(group);
}

void translate(CLI::App& app) {
  app.description(lang::tr_lines(app.get_description()));
  if (!app.get_footer().empty()) app.footer(lang::tr_lines(app.get_footer()));
  app.group(translated_group(app.get_group()));
  for (const auto& [label, word] : kLabels) app.get_formatter()->label(label, tr(word));
  for (CLI::Option* option : app.get_options()) {
    option->description(tr(option->get_description()));
    option->group(translated_group(option->get_group()));
  }
  for (CLI::App* command : app.get_subcommands({})) translate(*command);
}

void set_format(CLI::App& app, const std::shared_ptr<CLI::FormatterBase>& format) {
  app.formatter(format);
  for (CLI::App* command : app.get_subcommands({})) set_format(*command, format);
}

void add_option(CLI::App& app, bool shown) {
  auto* option =
      app.add_option_function<std::string>(
             std::string(kOption), [](const std::string&) {},
             "Language of what is shown: en or zh (default: ASSAY_LANG, else the locale's)")
          ->type_name("LANGUAGE:{en,zh}");  // choose_language() checks it, and also accepts locales
  if (!shown) option->group("");
  for (CLI::App* command : app.get_subcommands({})) add_option(*command, false);
}

}  // namespace

void choose_language(int argc, const char* const* argv) {
  lang::set_reader_language(lang::choose_language(asked_for(argc, argv), environment_value));
}

void speak(CLI::App& app) {
  add_option(app, true);
  set_format(app, std::make_shared<HelpFormat>());
  if (lang::reader_language() != lang::Language::english) translate(app);
}

std::string error_text(const Error& error) {
  std::string text = error.where().empty() ? std::string() : tr(error.where()) + ": ";
  text += lang::tr_lines(error.message());
  if (!error.advice().empty()) text += "\n  " + lang::tr_lines(error.advice());
  return text;
}

}  // namespace assay::commands
