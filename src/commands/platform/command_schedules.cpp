#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/platform/job_display.h"
#include "commands/platform/platform_client.h"
#include "core/json_access.h"
#include "core/text.h"

namespace assay::commands {

namespace {

struct ScheduleArguments {
  ServerOptions server;
  std::string name;
  std::string owner;
};

std::string outcome_of(const Json& schedule) {
  if (const std::string error = text_at(schedule, "last_error"); !error.empty())
    return "not submitted: " + printable(error);
  const auto job = integer_at(schedule, "last_job");
  return job ? fmt::format("job {}", *job) : "–";
}

int list_schedules(const ScheduleArguments& given) {
  const Json answer = make_client(given.server).schedules();
  if (given.server.json()) {
    say(dump_pretty(answer));
    return 0;
  }
  page::Table table{{{.title = "NAME"},
                     {.title = "OWNER"},
                     {.title = "WHEN (UTC)"},
                     {.title = "NEXT"},
                     {.title = "LAST", .cut = page::Cut::end, .soft_min = 20, .hard_min = 8}}};
  for (const Json& one : list_at(answer, "schedules")) {
    const std::string next = text_at(one, "next");
    table.rows.push_back(
        {{page::name(printable(text_at(one, "name"))), page::name(printable(text_at(one, "owner"))),
          printable(text_at(one, "cron")),
          one.value("paused", false) ? "paused" : printable(next.substr(0, 16)), outcome_of(one)}});
  }
  if (table.rows.empty())
    tell("No schedules. 'assay submit … --schedule CRON' makes one.\n");
  else
    say(fitted(table));
  return 0;
}

int remove_schedule(const ScheduleArguments& given) {
  make_client(given.server).remove_schedule(given.name, given.owner);
  if (!given.server.json())
    tell("'" + printable(given.name) + "' is not submitted any more; its jobs stay\n");
  return 0;
}

}  // namespace

void add_schedules(CLI::App& app, Action& action) {
  const auto given = std::make_shared<ScheduleArguments>();
  CLI::App* command = add_known(app, "schedules");
  command->require_subcommand(0, 1);
  add_server_options(*command, given->server);
  command->callback([given, command, &action] {
    if (command->get_subcommands().empty()) action = [given] { return list_schedules(*given); };
  });
  CLI::App* remove = command->add_subcommand("rm", "Submit it no more");
  remove->add_option("name", given->name, "Its name")->required()->type_name("NAME");
  remove->add_option("--owner", given->owner, "Of somebody else, for administrators")
      ->type_name("USER");
  add_server_options(*remove, given->server);
  remove->callback([given, &action] { action = [given] { return remove_schedule(*given); }; });
  command->footer(
      std::string("Examples:\n"
                  "  assay submit acceptance.yaml --name nightly --schedule '0 3 * * *'\n"
                  "  assay schedules\n"
                  "  assay schedules rm nightly\n") +
      kServerHelp);
}

}  // namespace assay::commands
