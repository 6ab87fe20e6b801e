#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "commands/base/commands.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "core/text.h"
#include "explain/explain.h"
#include "lang/language.h"
#include "page/table.h"
#include "page/text_width.h"

namespace assay::commands {

namespace {

using explain::Explanation;
using explain::Topic;
using lang::tr;

constexpr std::size_t kTextWidth = 92;

std::vector<catalog::Rule> rules_here() {
  return catalog::load_catalog(catalog::find_conf_dirs()).rules;
}

// Shows a rule's "{value:step|steps}" as "… steps".
std::string plain_title(std::string title) {
  for (auto at = title.find('{'); at != std::string::npos; at = title.find('{', at + 1)) {
    const std::size_t end = title.find('}', at);
    if (end == std::string::npos) break;
    title.replace(at, end - at + 1, "…");
  }
  return title;
}

std::string shown(const Explanation& one) {
  const Terminal screen = terminal();
  const std::size_t width = std::min(screen.width, kTextWidth);
  std::string out = page::paint(screen.color, "1", one.name) + "  " + tr(one.kind) + "\n";
  const auto paragraph = [&](const std::string& text, std::size_t indent) {
    for (const std::string& line : page::wrap(text, width - indent))
      out += std::string(indent, ' ') + line + "\n";
  };
  paragraph(plain_title(tr(one.title)), 0);
  for (const explain::Paragraph& part : one.paragraphs) {
    out += "\n" + page::paint(screen.color, "1", tr(part.heading)) + "\n";
    paragraph(tr(part.text), 2);
  }
  return out + "\n" + tr("Read more in: ") + place_of_page(one.page) + "\n";
}

int list_topics(const std::vector<Topic>& all) {
  page::Table table{{{"NAME"}, {"KIND"}, {"TITLE", page::Align::left, 0, page::Cut::end, 20, 20}}};
  for (const Topic& topic : all)
    table.rows.push_back({{topic.name, topic.kind, plain_title(tr(topic.title))}});
  const Terminal screen = terminal();
  for (const std::string& line :
       page::text_lines(table, {.width = screen.interactive ? screen.width : 200}))
    say(line + "\n");
  return 0;
}

// The topic of a finding's text, in English or in the reader's language. Empty if none.
std::string name_in_text(const std::string& text, std::vector<Topic> topics) {
  if (text.find_first_of(" [(") == std::string::npos &&
      lang::reader_language() == lang::Language::english)
    return {};
  std::string name = explain::name_in(text, topics);
  for (Topic& topic : topics) topic.title = tr(topic.title);
  return name.empty() ? explain::name_in(text, topics) : name;
}

int run_explain(const std::string& name) {
  const std::vector<catalog::Rule> rules = rules_here();
  const std::vector<Topic> all = explain::topics(rules);
  if (name.empty()) return list_topics(all);
  std::vector<Explanation> found = explain::explain(name, rules);
  if (found.empty()) found = explain::explain(name_in_text(name, all), rules);
  for (std::size_t i = 0; i < found.size(); ++i) say((i > 0 ? "\n" : "") + shown(found[i]));
  if (!found.empty()) return 0;
  std::vector<std::string> names;
  std::vector<Topic> near;
  for (const Topic& topic : all) {
    names.push_back(topic.name);
    if (topic.name.find(to_lower(name)) != std::string::npos) near.push_back(topic);
  }
  if (!near.empty()) return list_topics(near);
  throw Error(ErrorKind::usage,
              fmt::format("nothing is called '{}'{}", printable(name), did_you_mean(name, names)),
              {}, "'assay explain' lists all that can be explained");
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  const auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "explain", "Say what a finding, rule, metric, error or exit code means, and what to do");
  command
      ->add_option("name", *name,
                   "Its name, or the text of a finding; without one, a list of all; a part of a "
                   "name, a shorter list")
      ->type_name("TOPIC");
  command->footer(
      "Examples:\n"
      "  assay explain cpu-taken            a finding of a report\n"
      "  assay explain steady_throughput    a metric\n"
      "  assay explain 5                    an exit code\n"
      "  assay explain seal                 all that have 'seal' in their names\n"
      "  assay explain 'TEXT'               what a line of a report says");
  command->callback([name, &action] { action = [name] { return run_explain(*name); }; });
}

}  // namespace assay::commands
