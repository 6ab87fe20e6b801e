#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/platform/job_display.h"
#include "commands/platform/platform_client.h"
#include "core/error.h"
#include "core/text.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

struct ClusterArguments {
  ServerOptions server;
  std::vector<std::string> nodes;
  std::string reason;
  std::string queue;
  client::UsageQuery usage;
};

page::Column number_of(const char* title) {
  return {.title = title, .align = page::Align::right};
}

// Makes sure that nobody overlooks that the data may be out of date.
void say_trouble(const Json& answer) {
  if (const std::string trouble = client::read_trouble(answer); !trouble.empty())
    tell(printable(trouble) + "\nWhat is shown is what it said last.\n\n");
}

std::string state_of(const jobs::NodeAnswer& node) {
  std::string state = node.available ? "ready" : "not available";
  if (node.drained)
    state = "drained" + (node.drained_by.empty() ? "" : " by " + node.drained_by) +
            (node.reason.empty() ? "" : ": " + node.reason);
  // A scheduler describes states in its own words.
  if (!node.state.empty())
    return node.state + (node.reason.empty() ? "" : ": " + node.reason) +
           (node.reason.empty() || node.drained_by.empty() ? "" : " (" + node.drained_by + ")");
  return node.lost ? "lost" + (node.drained ? ", " + state : std::string()) : state;
}

int show_nodes(const ClusterArguments& given) {
  const client::Answer<jobs::NodesAnswer> nodes = make_client(given.server).nodes();
  if (given.server.json()) {
    say(dump_pretty(nodes.json));
    return 0;
  }
  page::Table table{{{.title = "NODE"},
                     {.title = "TYPE"},
                     number_of("USED"),
                     number_of("DEVICES"),
                     {.title = "STATE"},
                     {.title = "JOBS", .cut = page::Cut::end, .soft_min = 20, .hard_min = 8}}};
  std::int64_t used = 0;
  std::int64_t devices = 0;
  for (const jobs::NodeAnswer& node : nodes.value.nodes) {
    std::vector<std::string> uses;
    for (const jobs::NodeUse& use : node.uses)
      uses.push_back(
          fmt::format("{} {} ({})", use.job, lang::name(printable(use.owner)), use.devices));
    table.rows.push_back(
        {{page::name(printable(node.name)), page::name(printable(node.device_type)),
          std::to_string(node.used()), std::to_string(node.devices), printable(state_of(node)),
          join(uses, ", ")}});
    used += node.used();
    devices += node.devices;
  }
  say_trouble(nodes.json);
  say(fitted(table));
  tell(fmt::format("{}, {} of {} devices used\n", counted(nodes.value.nodes.size(), "node"), used,
                   devices));
  return 0;
}

int drain_nodes(const ClusterArguments& given, bool drain) {
  const client::Client client = make_client(given.server);
  for (const std::string& node : given.nodes) {
    if (drain)
      client.drain(node, given.reason);
    else
      client.undrain(node);
    if (!given.server.json())
      tell(drain ? lang::name(printable(node)) +
                       " is drained: what runs there goes on, nothing new begins\n"
                 : lang::name(printable(node)) + " takes jobs again\n");
  }
  if (given.server.json()) say(dump_pretty(client.nodes().json));
  return 0;
}

std::string state_of(const client::QueueRow& queue) {
  if (queue.closed) return "closed";
  return queue.approval ? "open, with approval" : "open";
}

void show_others(const std::vector<client::OtherJobRow>& others) {
  if (others.empty()) return;
  page::Table table{{{.title = "SLURM JOB"},
                     {.title = "NAME", .cut = page::Cut::end, .soft_min = 20, .hard_min = 8},
                     {.title = "USER"},
                     {.title = "PARTITION"},
                     {.title = "STATE"},
                     {.title = "WHERE", .cut = page::Cut::end, .soft_min = 20, .hard_min = 8}}};
  for (const client::OtherJobRow& job : others)
    table.rows.push_back(
        {{printable(job.id), page::name(printable(job.name)), page::name(printable(job.user)),
          page::name(printable(job.queue)), to_lower(printable(job.state)),
          printable(job.waiting.empty() ? job.node_list : job.waiting)}});
  tell("\nNot submitted here, to be seen only:\n");
  say(fitted(table));
}

// Shows the queues, and the order of those waiting.
int show_queue(const ClusterArguments& given) {
  const client::Client client = make_client(given.server);
  const client::Answer<std::vector<client::QueueRow>> queues = client.queues();
  std::vector<std::string> names;
  for (const client::QueueRow& queue : queues.value) names.push_back(queue.name);
  if (!given.queue.empty() && std::ranges::find(names, given.queue) == names.end())
    throw Error(
        ErrorKind::usage,
        "there is no queue '" + printable(given.queue) + "'" + did_you_mean(given.queue, names),
        client.connection().server().url, "queues: " + join(names, ", "));
  client::JobQuery query;
  query.states = {"unapproved", "queued", "scheduling", "pausing"};
  query.queue = given.queue;
  query.order = "submitted";
  query.ascending = true;
  query.limit = 1000;
  client::Answer<client::JobList> waiting = client.list(query);
  client::Answer<std::vector<client::OtherJobRow>> others = client.others();
  if (given.server.json()) {
    say(dump_pretty({{"queues", queues.json.value("queues", Json::array())},
                     {"waiting", waiting.json.value("jobs", Json::array())},
                     {"others", others.json.value("jobs", Json::array())}}));
    return 0;
  }
  if (!given.queue.empty())
    std::erase_if(others.value, [&](const auto& job) { return job.queue != given.queue; });
  say_trouble(others.json);
  page::Table table{{{.title = "QUEUE"},
                     number_of("PRIORITY"),
                     number_of("WAITING"),
                     number_of("RUNNING"),
                     {.title = "STATE"}}};
  for (const client::QueueRow& queue : queues.value)
    if (given.queue.empty() || given.queue == queue.name)
      table.rows.push_back(
          {{page::name(printable(queue.name)), std::to_string(queue.priority),
            std::to_string(queue.waiting), std::to_string(queue.running), state_of(queue)}});
  say(fitted(table));
  if (waiting.value.jobs.empty()) {
    tell("\nNobody waits.\n");
    show_others(others.value);
    return 0;
  }
  // Jobs in line come first, by place, then the others (those of a closed queue, for example) as
  // they would be in line.
  std::ranges::stable_sort(waiting.value.jobs, {}, [](const auto& job) {
    return std::pair(job.place > 0 ? job.place : INT64_MAX, -job.priority);
  });
  say("\n" + fitted(jobs_table(waiting.value.jobs)));
  show_others(others.value);
  return 0;
}

// Unknown if nobody measured it; a sum with unknown parts is a minimum.
std::string energy_of(const jobs::UsageAnswerRow& row) {
  if (!row.energy_kwh) return "–";
  return fmt::format("{}{:.2f} kWh", row.unmetered_device_hours > 0 ? "≥ " : "", *row.energy_kwh);
}

std::string idle_of(const jobs::UsageAnswerRow& row) {
  if (!row.idle_device_hours) return "not measured";
  if (row.unwatched_device_hours <= 0) return fmt::format("{:.2f} h", *row.idle_device_hours);
  return fmt::format("{:.2f} h of {:.2f} h", *row.idle_device_hours,
                     row.device_hours - row.unwatched_device_hours);
}

int show_usage(const ClusterArguments& given) {
  const client::Client client = make_client(given.server);
  if (given.server.format == "csv") {
    say(client.usage_csv(given.usage));
    return 0;
  }
  const client::Answer<jobs::UsageAnswer> usage = client.usage(given.usage);
  if (given.server.json()) {
    say(dump_pretty(usage.json));
    return 0;
  }
  page::Table table{{{.title = "USER"},
                     {.title = "TEAM"},
                     {.title = "MONTH"},
                     {.title = "TYPE"},
                     number_of("JOBS"),
                     number_of("DEVICE HOURS"),
                     number_of("IDLE"),
                     number_of("ENERGY")}};
  const auto name = [](const std::string& text) {
    return page::name(text.empty() ? "–" : printable(text));
  };
  for (const jobs::UsageAnswerRow& row : usage.value.usage)
    table.rows.push_back({{name(row.user), name(row.team), name(row.month), name(row.device_type),
                           std::to_string(row.jobs), fmt::format("{:.2f} h", row.device_hours),
                           idle_of(row), energy_of(row)}});
  if (usage.value.usage.empty())
    tell("Nothing was used.\n");
  else
    say(fitted(table));
  return 0;
}

}  // namespace

void add_nodes(CLI::App& app, Action& action) {
  const auto given = std::make_shared<ClusterArguments>();
  CLI::App* command = add_known(app, "nodes");
  command->require_subcommand(0, 1);
  add_server_options(*command, given->server);
  command->callback([given, command, &action] {
    if (command->get_subcommands().empty()) action = [given] { return show_nodes(*given); };
  });
  for (const bool drain : {true, false}) {
    CLI::App* part = command->add_subcommand(
        drain ? "drain" : "undrain", drain ? "Begin nothing new on nodes; what runs there goes on"
                                           : "Let nodes take jobs again");
    part->add_option("nodes", given->nodes, "Their names")->required()->type_name("NODE");
    if (drain) part->add_option("--reason", given->reason, "Why, for others to read")->required();
    add_server_options(*part, given->server);
    part->callback([given, drain, &action] {
      action = [given, drain] { return drain_nodes(*given, drain); };
    });
  }
  command->footer(std::string("Examples:\n"
                              "  assay nodes\n"
                              "  assay nodes drain node3 --reason 'new power supply'\n"
                              "  assay nodes undrain node3\n"
                              "\n"
                              "Where jobs are Slurm's, the states and reasons are Slurm's own, and "
                              "draining is done there.\n") +
                  kServerHelp);
}

void add_queue(CLI::App& app, Action& action) {
  const auto given = std::make_shared<ClusterArguments>();
  CLI::App* command = add_known(app, "queue");
  command->add_option("queue", given->queue, "Only this one")->type_name("QUEUE");
  add_server_options(*command, given->server);
  command->footer(std::string("Examples:\n  assay queue\n  assay queue night\n") + kServerHelp);
  command->callback([given, &action] { action = [given] { return show_queue(*given); }; });
}

void add_usage(CLI::App& app, Action& action) {
  const auto given = std::make_shared<ClusterArguments>();
  CLI::App* command = add_known(app, "usage");
  command->add_option("--from", given->usage.from, "From this day on (UTC)")->type_name("DATE");
  command->add_option("--to", given->usage.to, "Up to this day")->type_name("DATE");
  command
      ->add_option("--by", given->usage.by,
                   "Sum by user, team, month, device_type; several with commas")
      ->type_name("WHAT");
  add_server_options(*command, given->server, {"csv"});
  command->footer(std::string("Examples:\n"
                              "  assay usage --from 2026-11-01\n"
                              "  assay usage --by team,month --format csv > usage.csv\n") +
                  kServerHelp);
  command->callback([given, &action] { action = [given] { return show_usage(*given); }; });
}

}  // namespace assay::commands
