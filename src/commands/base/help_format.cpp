#include "commands/base/help_format.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/base/terminal.h"
#include "core/text.h"
#include "lang/language.h"
#include "page/text_width.h"

namespace assay::commands {

namespace {

constexpr std::size_t kLeast = 24;  // columns for an option's meaning

bool takes_many(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

// The parser appends a check's values: "INT:INT in [1 - 9]", "INT:NONNEGATIVE", "PERCENT:0 to 100".
std::string_view without_check(std::string_view type) {
  const std::size_t colon = type.find(':');
  if (colon == std::string_view::npos) return type;
  const std::string_view check = type.substr(colon + 1);
  const bool of_parser = check.find(" in [") != std::string_view::npos ||
                         check.starts_with("NONNEGATIVE") || check.starts_with("POSITIVE") ||
                         (!check.empty() && check[0] >= '0' && check[0] <= '9');
  return of_parser ? type.substr(0, colon) : type;
}

std::string meaning_of(const CLI::Option& option) {
  std::string out = option.get_description();
  const std::string usual = option.get_default_str();
  if (usual.empty() || option.get_type_size() == 0) return out;
  const std::string told = lang::tr("(default: " + usual + ")");
  return out + (out.empty() || told.starts_with("（") ? "" : " ") + told;
}

// The parser puts ':' after a heading, which begins a line and contains no blank.
std::string with_own_colons(const std::string& text) {
  if (lang::reader_language() == lang::Language::english) return text;
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    const bool heading = colon != std::string_view::npos && line.find(' ') > colon;
    out.emplace_back(line);
    if (heading) out.back().replace(colon, line.substr(colon).starts_with(": ") ? 2 : 1, "：");
  }
  return join(out, "\n");
}

// The left column, then the right one, which continues below itself.
std::string in_columns(const std::string& left, const std::string& right, std::size_t column) {
  const std::size_t width = terminal_width(0);
  std::vector<std::string> lines;
  for (const std::string_view line : split(right, '\n'))
    if (width >= column + kLeast)
      for (std::string& part : page::wrap(line, width - column)) lines.push_back(std::move(part));
    else
      lines.emplace_back(line);
  std::string out = "  " + left;
  if (right.empty()) return out + "\n";
  out = page::columns_of(out) < column ? page::pad_right(out, column)
                                       : out + "\n" + std::string(column, ' ');
  return out + join(lines, "\n" + std::string(column, ' ')) + "\n";
}

}  // namespace

std::string value_text(const CLI::Option& option) {
  if (option.get_type_size() == 0) return {};
  const std::string type = option.get_type_name();
  const std::size_t open = type.find(":{");
  if (open != std::string::npos && type.ends_with('}')) {
    std::string out = type.substr(open + 2, type.size() - open - 3);
    std::ranges::replace(out, ',', '|');
    return out;
  }
  std::string out(without_check(type));
  if (out == "INT" || out == "UINT" || out == "FLOAT") out = "N";
  const bool open_end = out.ends_with("…") || out.ends_with("...");
  return out + (takes_many(option) && !open_end ? " ..." : "");
}

std::string names_text(const CLI::Option& option) {
  std::string out = option.get_name(false, true);
  const std::size_t any = out.find("{any}");
  return any == std::string::npos ? out : out.replace(any, 5, "[=…]");
}

std::string argument_text(const CLI::Option& option) {
  const std::string out =
      option.get_name(true, false) + (option.get_expected_max() > 1 ? "..." : "");
  return option.get_required() ? out : "[" + out + "]";
}

std::string HelpFormat::make_option(const CLI::Option* option, bool positional) const {
  const std::string value = value_text(*option);
  std::string left = positional ? option->get_name(true, false) : names_text(*option);
  // An argument's name describes its value, unless there is a choice.
  if (!value.empty() && (!positional || value.find('|') != std::string::npos)) left += " " + value;
  if (!positional && option->get_required()) left += " " + get_label("REQUIRED");
  return in_columns(left, meaning_of(*option), get_column_width());
}

std::string HelpFormat::make_option_usage(const CLI::Option* option) const {
  return argument_text(*option);
}

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  return with_own_colons(Formatter::make_usage(app, std::move(name)));
}

std::string HelpFormat::make_group(std::string group, bool positional,
                                   std::vector<const CLI::Option*> options) const {
  return with_own_colons(Formatter::make_group(std::move(group), positional, std::move(options)));
}

std::string HelpFormat::make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const {
  return with_own_colons(Formatter::make_subcommands(app, mode));
}

}  // namespace assay::commands
