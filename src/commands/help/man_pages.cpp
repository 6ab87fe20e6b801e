#include "commands/help/man_pages.h"

#include <vector>

#include <fmt/format.h>

#include "commands/base/help_format.h"
#include "commands/base/known_commands.h"
#include "core/text.h"
#include "core/version.h"

namespace assay::commands {

namespace {

std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_begins = c == '\n';
  }
  return out;
}

std::string in_one_line(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? ' ' : c;
  return out;
}

std::string literal(const std::string& text) {
  return ".nf\n" + roff(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

bool is_shown(const CLI::App& command) {
  return !command.get_group().empty();
}

std::string options_of(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    const std::string value = value_text(*option);
    out += ".TP\n\\fB" + roff(names_text(*option)) + "\\fR";
    if (!value.empty() && !option->get_positional()) out += " \\fI" + roff(value) + "\\fR";
    out += "\n" + roff(in_one_line(option->get_description())) + "\n";
  }
  return out;
}

// The footer: "Examples:" and the rest, with its own headings.
std::string footer_of(const CLI::App& command) {
  const std::string text = command.get_footer();
  if (text.empty()) return {};
  constexpr std::string_view kExamples = "Examples:\n";
  const std::size_t examples = text.find(kExamples);
  if (examples == std::string::npos) return ".SH NOTES\n" + literal(text);
  std::string out;
  if (examples > 0) out += ".SH NOTES\n" + literal(text.substr(0, examples));
  std::string rest = text.substr(examples + kExamples.size());
  const std::size_t end = rest.find("\n\n");
  out += ".SH EXAMPLES\n" + literal(rest.substr(0, end));
  if (end != std::string::npos) out += ".SH NOTES\n" + literal(rest.substr(end + 2));
  return out;
}

std::string head(const std::string& name, const std::string& what) {
  std::string upper;
  for (const char c : name) upper += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return fmt::format(".TH {} 1 \"\" \"assay {}\" \"Assay\"\n.SH NAME\n{} \\- {}\n", roff(upper),
                     version_string(), roff(name), roff(in_one_line(what)));
}

std::string usage_of(const CLI::App& command, const std::string& name) {
  std::string out = "\\fB" + roff(name) + "\\fR";
  bool has_options = false;
  for (const CLI::Option* option : command.get_options())
    has_options = has_options || (!option->get_positional() && !option->get_group().empty());
  if (has_options) out += " [\\fIOPTIONS\\fR]";
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) {
      const std::string type = option->get_type_name();
      const std::string shown = "\\fI" + roff(type.empty() ? option->get_name() : type) + "\\fR";
      out += option->get_required() ? " " + shown : " [" + shown + "]";
    }
  return out;
}

void add_page(const CLI::App& command, const std::string& words,
              std::map<std::string, std::string>& out) {
  std::string name = words;
  for (char& c : name)
    if (c == ' ') c = '-';
  std::string page = head(name, command.get_description());
  page += ".SH SYNOPSIS\n" + usage_of(command, words) + "\n";
  std::string parts;
  for (const CLI::App* sub : command.get_subcommands({}))
    if (is_shown(*sub)) {
      page += ".br\n" + usage_of(*sub, words + " " + sub->get_name()) + "\n";
      parts += ".SS \"" + roff(words + " " + sub->get_name()) + "\"\n" +
               roff(in_one_line(sub->get_description())) + "\n" + options_of(*sub) +
               (sub->get_footer().empty() ? "" : literal(sub->get_footer()));
    }
  page += ".SH DESCRIPTION\n" + roff(in_one_line(command.get_description())) + ".\n";
  page += ".SH OPTIONS\n" + options_of(command);
  if (!parts.empty()) page += ".SH COMMANDS\n" + parts;
  page += footer_of(command);
  page += ".SH SEE ALSO\n\\fBassay\\fR(1)\n";
  out[name + ".1"] = page;
}

}  // namespace

std::map<std::string, std::string> man_pages(const CLI::App& app) {
  std::map<std::string, std::string> out;
  std::string page = head("assay", "measure how an AI cluster trains");
  page += ".SH SYNOPSIS\n\\fBassay\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  page += ".SH DESCRIPTION\n" + roff(app.get_description()) + "\n.SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!is_shown(*command)) continue;
    page += ".TP\n\\fBassay\\-" + roff(command->get_name()) + "\\fR(1)\n" +
            roff(in_one_line(command->get_description())) + "\n";
    if (!is_elsewhere(*command)) add_page(*command, "assay " + command->get_name(), out);
  }
  page += ".SH OPTIONS\n" + options_of(app) + footer_of(app);
  page +=
      ".SH FILES\n"
      ".TP\n\\fI/etc/assay\\fR, \\fI~/.config/assay\\fR\n"
      "vendors/, workloads/, rules/ and suites/ of a site and of a user, over those of Assay\n";
  out["assay.1"] = page;
  return out;
}

}  // namespace assay::commands
