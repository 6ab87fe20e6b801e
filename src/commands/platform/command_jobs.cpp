#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <poll.h>

#include "client/job_forms.h"
#include "commands/base/commands.h"
#include "commands/base/interrupt.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/platform/follow_jobs.h"
#include "commands/platform/job_display.h"
#include "commands/platform/platform_client.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "jobs/job_array.h"
#include "jobs/job_store.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

struct JobsArguments {
  ServerOptions server;
  client::JobQuery query;
  bool all = false;
  bool mine = false;
  bool watch = false;
};

// States of unfinished jobs; finished ones are requested by name or with --all.
std::vector<std::string> open_states() {
  std::vector<std::string> names;
  for (const auto& [state, name] : enum_names(jobs::State{}))
    if (!jobs::is_final(state)) names.emplace_back(name);
  return names;
}

void show_jobs(const client::JobList& list, const client::JobQuery& query) {
  if (list.jobs.empty()) return tell("No jobs.\n");
  say(fitted(jobs_table(list.jobs)));
  const auto shown = static_cast<std::int64_t>(list.jobs.size());
  if (list.total > query.offset + shown)
    tell(fmt::format("{} to {} of {}: --offset {} shows more\n", query.offset + 1,
                     query.offset + shown, list.total, query.offset + shown));
}

int list_jobs(JobsArguments given) {
  if (given.watch && given.server.json())
    throw Error(ErrorKind::usage, "--watch is for people: it has no JSON");
  const Interrupt interrupt;
  const client::Client client = make_client(given.server, interrupt.token());
  if (given.query.states.empty() && !given.all) given.query.states = open_states();
  if (given.mine) given.query.owner = client.session().value.user;
  const Terminal t = terminal();
  while (true) {
    const client::Answer<client::JobList> list = client.list(given.query);
    if (given.server.json()) {
      say(dump_pretty(list.json));
      return 0;
    }
    if (given.watch && t.interactive) say("\x1b[H\x1b[2J");
    show_jobs(list.value, given.query);
    for (int tenth = 0; given.watch && tenth < 20; ++tenth) {
      if (interrupt.token().stop_requested()) return 0;
      ::poll(nullptr, 0, 100);
    }
    if (!given.watch) return 0;
  }
}

struct JobArguments {
  ServerOptions server;
  jobs::JobId id = 0;
  bool yaml = false;
  bool curl = false;
  bool command = false;
  bool report = false;
  bool result = false;
  bool logs = false;
  bool follow = false;
  LogOptionsOfJob log;
};

// Refuses output that is text by nature if JSON was requested.
void refuse_text_as_json(const JobArguments& given) {
  const char* const text = given.yaml                    ? "--yaml"
                           : given.curl                  ? "--curl"
                           : given.command               ? "--command"
                           : given.report                ? "--report"
                           : given.follow && !given.logs ? "--follow"
                                                         : nullptr;
  if (text == nullptr || !given.server.json()) return;
  throw Error(ErrorKind::usage, fmt::format("'{}' prints text, not JSON", text), {},
              "leave out '--format json', or the other");
}

int show_job(const JobArguments& given) {
  refuse_text_as_json(given);
  const Interrupt interrupt;
  const client::Client client = make_client(given.server, interrupt.token());
  if (given.logs) {
    LogOptionsOfJob log = given.log;
    log.follow = given.follow;
    log.json = given.server.json();
    return print_job_log(client, given.id, log, interrupt.token());
  }
  if (given.follow) return follow_jobs(client, {given.id}, interrupt.token());
  if (given.yaml) {
    say(client.suite(given.id));
    return 0;
  }
  if (given.report || given.result) {
    say(given.report ? client.report(given.id) : dump_pretty(client.result(given.id)));
    return 0;
  }
  const client::Answer<client::JobDetails> job = client.job(given.id);
  const jobs::Submission& submission = job.value.submission;
  if (given.command) {
    say(client::as_command(submission, job.value.row.team) + "\n");
    if (!job.value.code.empty())
      tell_error("assay: it worked in a folder that was sent: run this in that folder\n");
    if (!submission.suite.empty())
      tell_error(fmt::format("assay: suite.yaml is what 'assay job {} --yaml' prints\n", given.id));
  } else if (given.curl) {
    say(client::as_curl(submission, client.connection().server().url, job.value.row.team,
                        job.value.code));
  } else {
    const auto timeline = client.timeline(given.id);
    if (given.server.json()) {
      Json json = job.json;
      json["timeline"] = timeline.json.value("events", Json::array());
      say(dump_pretty(json));
    } else {
      say(job_brief(job.value, timeline.value, client.page_of(given.id)));
    }
  }
  return 0;
}

struct DeedArguments {
  ServerOptions server;
  std::vector<std::string> jobs;
};

/// "12", or "12-17" for the elements of an array, which have consecutive numbers.
std::vector<jobs::JobId> numbers_of(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (!jobs::parse_job_numbers(word))
      throw Error(ErrorKind::usage,
                  "'" + printable(word) + "' is neither a job's number nor a range", "JOB",
                  fmt::format("such as 17, or 17-26 for an array of ten jobs; at most {} at a time",
                              jobs::kMaxNumbers));
  auto all = jobs::parse_job_numbers(join(words, ","));
  if (!all)
    throw Error(ErrorKind::usage, fmt::format("these are more than {} jobs", jobs::kMaxNumbers),
                "JOB", "name fewer at a time");
  return *std::move(all);
}

int refused_job(jobs::JobId id, const std::string& why) {
  tell_error(fmt::format("assay: error: job {}: {}\n", id, why));
  return exit_code(ErrorKind::usage);
}

int do_to_job(const client::Client& client, const DeedArguments& given, jobs::JobId id,
              const std::string& deed) {
  Json all = Json::array();
  int code = 0;
  try {
    const client::Answer<client::JobDetails> job = client.ask_of(id, deed);
    all.push_back(job.json);
    if (!given.server.json())
      tell(fmt::format("job {} is {}\n", id, printable(job.value.row.state.text)));
  } catch (const client::Refused& refused) {
    if (refused.kind() != ErrorKind::usage) throw;
    code = refused_job(id, refused.message());
  }
  if (given.server.json()) say(dump_pretty({{"jobs", all}}));
  return code;
}

// In few requests: there may be thousands. A failure with one does not affect the others.
int do_to_jobs(const DeedArguments& given, const std::string& deed) {
  const std::vector<jobs::JobId> ids = numbers_of(given.jobs);
  const client::Client client = make_client(given.server);
  if (ids.size() == 1) return do_to_job(client, given, ids.front(), deed);
  const client::ManyChanged all = client.ask_of_many(join(given.jobs, ","), deed);
  int code = 0;
  for (const auto& [id, words] : all.failed) code = refused_job(id, printable(words));
  if (all.refused > static_cast<std::int64_t>(all.failed.size()))
    tell_error(fmt::format("assay: error: {} were refused\n", counted(all.refused, "job")));
  if (given.server.json()) {
    Json rows = Json::array();
    for (const auto& [id, state] : all.changed) rows.push_back({{"id", id}, {"state", state}});
    say(dump_pretty({{"jobs", rows}}));
    return code;
  }
  std::string lines;
  for (const auto& [id, state] : all.changed)
    lines += lang::tr(fmt::format("job {} is {}\n", id, printable(state)));
  say(lines);
  return code;
}

void add_deed(CLI::App& app, Action& action, const char* name, const char* deed) {
  const auto given = std::make_shared<DeedArguments>();
  CLI::App* command = add_known(app, name);
  command->add_option("jobs", given->jobs, "Their numbers")->required()->type_name("JOB");
  add_server_options(*command, given->server);
  command->footer(fmt::format("Examples:\n  assay {} 17\n  assay {} 17 18 19\n  assay {} 17-26\n{}",
                              name, name, name, kServerHelp));
  command->callback(
      [given, deed, &action] { action = [given, deed] { return do_to_jobs(*given, deed); }; });
}

}  // namespace

void add_jobs(CLI::App& app, Action& action) {
  const auto given = std::make_shared<JobsArguments>();
  CLI::App* command = add_known(app, "jobs");
  std::vector<std::string> states;
  for (const auto& entry : enum_names(jobs::State{})) states.emplace_back(entry.text);
  command->add_option("--state", given->query.states, "Only these; may be repeated")
      ->check(CLI::IsMember(states))
      ->delimiter(',');
  command->add_flag("-a,--all", given->all, "Those that have ended, too");
  CLI::Option* mine = command->add_flag("--mine", given->mine, "Only my own");
  command->add_option("--owner", given->query.owner, "Only of this person")
      ->type_name("USER")
      ->excludes(mine);
  command->add_option("--team", given->query.team, "Only of this team")->type_name("TEAM");
  command->add_option("--queue", given->query.queue, "Only of this queue")->type_name("QUEUE");
  command->add_option("--search", given->query.search, "In the name, or a job's number")
      ->type_name("TEXT");
  std::vector<std::string> orders;
  for (const auto& entry : enum_names(jobs::JobOrder{})) orders.emplace_back(entry.text);
  command->add_option("--order", given->query.order, "Sort by it")->check(CLI::IsMember(orders));
  command->add_flag("--ascending", given->query.ascending, "The smallest or oldest first");
  command->add_option("--limit", given->query.limit, "So many at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--offset", given->query.offset, "Leave out so many")
      ->check(CLI::Range(0, 1'000'000'000));
  command->add_flag("-w,--watch", given->watch, "Again every two seconds");
  add_server_options(*command, given->server);
  command->footer(std::string("Examples:\n"
                              "  assay jobs\n"
                              "  assay jobs --all --mine --search resnet\n"
                              "  assay jobs --state failed,error --format json\n") +
                  kServerHelp);
  command->callback([given, &action] { action = [given] { return list_jobs(*given); }; });
}

void add_job(CLI::App& app, Action& action) {
  const auto given = std::make_shared<JobArguments>();
  CLI::App* command = add_known(app, "job");
  command->add_option("job", given->id, "Its number")->required()->type_name("JOB");
  CLI::Option* yaml = command->add_flag("--yaml", given->yaml, "Print the suite that it runs");
  CLI::Option* curl =
      command->add_flag("--curl", given->curl, "Print a command for curl that submits it again");
  CLI::Option* line = command->add_flag("--command", given->command,
                                        "Print the 'assay submit' that submits it again");
  CLI::Option* report =
      command->add_flag("--report", given->report, "Print the report of its run, a page (HTML)");
  CLI::Option* result =
      command->add_flag("--result", given->result, "Print the result of its run (result.json)");
  CLI::Option* logs = command->add_flag("--logs", given->logs, "Print its output");
  command->add_flag("-f,--follow", given->follow,
                    "Until it has ended; without --logs, end with its outcome");
  command->add_option("--rank", given->log.rank, "Of --logs: only of this rank")->needs(logs);
  command->add_option("--attempt", given->log.attempt, "Of --logs: of this attempt")->needs(logs);
  yaml->excludes(curl)->excludes(line)->excludes(logs);
  curl->excludes(line)->excludes(logs);
  line->excludes(logs);
  report->excludes(result)->excludes(yaml)->excludes(curl)->excludes(line)->excludes(logs);
  result->excludes(yaml)->excludes(curl)->excludes(line)->excludes(logs);
  add_server_options(*command, given->server);
  command->footer(
      std::string("Examples:\n"
                  "  assay job 17\n"
                  "  assay job 17 --logs -f\n"
                  "  assay job 17 --follow\n"
                  "  assay job 17 --yaml > suite.yaml\n"
                  "  assay job 17 --report > report.html\n") +
      kServerHelp +
      "\nWith --follow: 0 finished and VALID, 4 the cluster could not run it, 5 failed,\n"
      "stopped or INCOMPLETE, 6 INVALID, 130 no longer followed.");
  command->callback([given, &action] { action = [given] { return show_job(*given); }; });
}

void add_job_deeds(CLI::App& app, Action& action) {
  add_deed(app, action, "cancel", "kill");
  add_deed(app, action, "pause", "pause");
  add_deed(app, action, "resume", "resume");
}

}  // namespace assay::commands
