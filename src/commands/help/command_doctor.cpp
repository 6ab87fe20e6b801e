#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/terminal.h"
#include "commands/help/doctor.h"
#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "lang/language.h"
#include "launch/agents/preflight_text.h"
#include "page/table.h"
#include "page/text_width.h"

namespace assay::commands {

namespace {

using lang::tr;
using probe::Check;
using probe::Level;

Json to_json(const std::vector<DoctorSection>& sections) {
  Json out = Json::array();
  for (const DoctorSection& section : sections) {
    Json checks = Json::array();
    for (const Check& check : section.checks) checks.push_back(fields_to_json(check));
    out.push_back({{"section", section.title}, {"checks", checks}});
  }
  return out;
}

std::string shown(const Check& check, std::size_t id_width, const Terminal& screen) {
  const std::string indent(6 + id_width + 2, ' ');
  const std::size_t room = screen.width > indent.size() + 20 ? screen.width - indent.size() : 20;
  std::string out = launch::level_text(check.level, screen.color) + "  " +
                    page::pad_right(check.id, id_width) + "  ";
  bool first = true;
  for (const std::string& line : page::wrap(tr(printable(check.seen)), room)) {
    out += (first ? "" : indent) + line + "\n";
    first = false;
  }
  if (check.advice.empty() || check.level == Level::pass) return out;
  std::string mark = screen.unicode ? "→ " : "> ";
  for (const std::string& line : page::wrap(tr(printable(check.advice)), room - 2)) {
    out += indent + mark + line + "\n";
    mark = "  ";
  }
  return out;
}

int run_doctor(const std::string& out_dir, const std::string& format) {
  const std::vector<DoctorSection> sections = examine(std::filesystem::absolute(out_dir));
  const bool fit = std::ranges::all_of(sections, [](const DoctorSection& section) {
    return probe::worst(section.checks) != Level::fail;
  });
  const int code = fit ? 0 : exit_code(ErrorKind::environment);
  if (format == "json") {
    say(dump_pretty(to_json(sections)));
    return code;
  }
  const Terminal screen = terminal();
  std::size_t id_width = 0;
  for (const DoctorSection& section : sections)
    for (const Check& check : section.checks) id_width = std::max(id_width, check.id.size());
  say(host_name() + "\n");
  for (const DoctorSection& section : sections) {
    say("\n" + page::paint(screen.color, "1", tr(section.title)) + "\n");
    for (const Check& check : section.checks) say(shown(check, id_width, screen));
  }
  tell(fit ? "\nAssay can run here; a WARN says what is not possible and why.\n"
           : "\nAssay cannot run here before what FAILs is mended.\n");
  return code;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  struct Given {
    std::string out = "results";
    std::string format = "text";
  };
  const auto given = std::make_shared<Given>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Say what this machine and this installation can and cannot do, and why");
  command->add_option("--out", given->out, "Folder for the runs, whose disk is checked")
      ->type_name("DIR");
  command->add_option("--format", given->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Examples:\n"
      "  assay doctor\n"
      "  assay doctor --format json\n"
      "\n"
      "'assay check SUITE' asks all machines of a suite. Exit code 3 when something FAILs.");
  command->callback(
      [given, &action] { action = [given] { return run_doctor(given->out, given->format); }; });
}

}  // namespace assay::commands
