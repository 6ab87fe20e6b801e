#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "client/code_upload.h"
#include "code/folder_rules.h"
#include "code/folder_scan.h"
#include "commands/base/byte_progress.h"
#include "commands/base/commands.h"
#include "commands/base/interrupt.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/platform/follow_jobs.h"
#include "commands/platform/job_display.h"
#include "commands/platform/platform_client.h"
#include "commands/platform/submission_options.h"
#include "core/error.h"
#include "core/json_access.h"
#include "core/text.h"
#include "core/units.h"
#include "jobs/cron.h"
#include "jobs/pending.h"
#include "lang/language.h"
#include "page/shown_plan.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

struct SubmitArguments {
  ServerOptions server;
  SubmissionOptions submission;
  std::string template_name;
  std::string team;
  std::optional<std::string> schedule;
  std::string code = ".";
  bool no_code = false;
  bool send_secrets = false;
  bool dry_run = false;
  bool follow = false;
  bool yes = false;
};

bool is_same_folder(const fs::path& one, const char* other) {
  std::error_code error;
  return other != nullptr && *other != '\0' && fs::equivalent(one, other, error);
}

// A job never needs a whole home folder, which contains things that nobody wants to send.
void refuse_whole_homes(const fs::path& folder) {
  if (is_same_folder(folder, "/") || is_same_folder(folder, std::getenv("HOME")))
    throw Error(ErrorKind::usage, "this is your home or the whole file system, which is not sent",
                fs::absolute(folder).string(),
                "change to the folder of the job, give --code DIR, or --no-code");
}

code::Scan scan_code(const SubmitArguments& given) {
  refuse_whole_homes(given.code);
  code::ScanOptions options;
  options.send_secrets = given.send_secrets;
  ByteProgress progress("Read", 1'000'000'000);
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
  code::Scan scan = code::scan_folder(given.code, options);
  if (!scan.secrets.empty())
    tell_error(fmt::format("assay: not sent, because they look like secrets: {} (--send-secrets)\n",
                           code::listed_names(scan.secrets)));
  if (!scan.special.empty())
    tell_error(fmt::format("assay: not sent, because they are no files: {}\n",
                           code::listed_names(scan.special)));
  if (!scan.runs.empty())
    tell_error(fmt::format("assay: not sent, because they are runs of Assay: {} (.assayignore)\n",
                           code::listed_names(scan.runs)));
  return scan;
}

// Leaves out the rules by which the run is judged: they are many, and --dry-run shows them.
std::string without_rules(const std::string& plan) {
  std::string out;
  for (const std::string_view line : split(plan, '\n'))
    if (!line.starts_with("  rule ") && !line.starts_with("  relaxed "))
      out.append(line).append("\n");
  return out;
}

std::string plan_text(const jobs::Submission& job, const client::PreviewAnswer& preview,
                      bool with_rules) {
  std::string text = fmt::format(
      "{}: {} × {}{}, {} a node; queue {}, priority {}\n", lang::name(printable(job.name)),
      counted(job.nodes, "node"), counted(jobs::devices_per_node(job), "device"),
      job.device_type.empty() ? "" : " of type " + lang::name(job.device_type),
      counted(job.procs, "process", "processes"), lang::name(job.queue),
      job.priority.value_or(jobs::kDefaultPriority));
  if (preview.elements > 0)
    text += preview.at_once > 0 ? fmt::format("An array of {}, {} at a time\n",
                                              counted(preview.elements, "job"), preview.at_once)
                                : fmt::format("An array of {}\n", counted(preview.elements, "job"));
  if (!preview.placement.empty())
    text += "Starts at once on " + lang::name(shown_placement(preview.placement)) + "\n";
  else if (const std::string wait =
               shown_wait(preview.pending, preview.place, preview.estimated_start);
           !wait.empty())
    text += "Waits: " + wait + "\n";
  if (preview.time_s)
    text += fmt::format("May run for {}\n", duration_text(from_seconds(*preview.time_s)));
  text = lang::tr_lines(text);
  if (!preview.plan.empty())
    text +=
        "\n" + page::plan_in(lang::reader_language(),
                             printable(with_rules ? preview.plan : without_rules(preview.plan)));
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

bool is_wanted(const std::stop_token& stop) {
  tell("Submit it? [Y/n] ");
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (::poll(&input, 1, 100) <= 0)
    if (stop.stop_requested()) return false;
  std::string line;
  if (!std::getline(std::cin, line)) return false;
  const std::string answer = to_lower(trim(line));
  return answer.empty() || answer == "y" || answer == "yes";
}

client::Answer<client::JobList> submit_or_explain(const client::Client& client,
                                                  const client::NewSubmission& job,
                                                  const std::string& suite_file) {
  try {
    return client.submit(job, client::new_request_key());
  } catch (const client::Refused& refused) {
    if (refused.problems().empty()) throw;
    throw submission_error(refused.problems(), suite_file);
  }
}

client::Answer<client::PreviewAnswer> preview_or_explain(const client::Client& client,
                                                         const client::NewSubmission& job,
                                                         const std::string& suite_file) {
  client::Answer<client::PreviewAnswer> preview;
  try {
    preview = client.preview(job);
  } catch (const client::Refused& refused) {
    if (refused.problems().empty()) throw;
    throw submission_error(refused.problems(), suite_file);
  }
  if (!preview.value.problems.empty()) throw submission_error(preview.value.problems, suite_file);
  return preview;
}

int make_schedule(const client::Client& client, const SubmitArguments& given,
                  const client::NewSubmission& job) {
  const std::string name = text_at(job.submission, "name");
  const Json made = client.put_schedule(name, *given.schedule, job);
  if (given.server.json())
    say(dump_pretty(made));
  else
    tell(fmt::format("'{}' is submitted by '{}' (UTC), next at {}; 'assay schedules' lists them\n",
                     printable(name), *given.schedule, printable(text_at(made, "next"))));
  return 0;
}

int submit_job(const SubmitArguments& given) {
  // Checked before anything is sent: an invalid one must not become a job for now.
  if (given.schedule) (void)jobs::Cron::parse(*given.schedule, "--schedule");
  const Interrupt interrupt;
  const client::Client client = make_client(given.server, interrupt.token());
  const WrittenSubmission written = write_submission(
      given.submission,
      given.template_name.empty() ? Json::object() : client.template_named(given.template_name));
  const jobs::ReadSubmission read = jobs::read_submission(written.json);
  if (!read.problems.empty()) throw submission_error(read.problems, written.suite_file);
  client::NewSubmission job{written.json, given.team, {}};

  std::optional<code::Scan> scanned;
  if (!given.no_code) scanned = scan_code(given);
  const client::Answer<client::PreviewAnswer> preview =
      preview_or_explain(client, job, written.suite_file);
  const bool words = !given.server.json();
  if (words) {
    say(plan_text(read.submission, preview.value, given.dry_run));
    if (scanned)
      tell(fmt::format("Code: {}, {} of {}\n", counted(scanned->manifest.files.size(), "file"),
                       format_bytes(static_cast<double>(scanned->manifest.bytes())),
                       lang::name(fs::absolute(given.code).lexically_normal().string())));
  }
  if (given.dry_run) {
    if (!words) say(dump_pretty(preview.json));
    return 0;
  }
  if (words && !given.yes && terminal().interactive && ::isatty(STDIN_FILENO) != 0 &&
      !is_wanted(interrupt.token())) {
    tell("Nothing was submitted.\n");
    return 0;
  }
  if (scanned && !scanned->manifest.files.empty()) {
    ByteProgress progress("Sent", 1'000'000'000);
    const client::CodeUpload upload = client::send_code(
        client.connection(), given.code, scanned->manifest,
        [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); });
    job.code = upload.id;
    if (words)
      tell(upload.files == 0 ? "The server has all of it already.\n"
                             : fmt::format("Sent {}, {}.\n", counted(upload.files, "file"),
                                           format_bytes(static_cast<double>(upload.bytes))));
  }
  if (given.schedule) return make_schedule(client, given, job);
  const client::Answer<client::JobList> made = submit_or_explain(client, job, written.suite_file);
  if (made.value.jobs.empty())
    throw Error(ErrorKind::launch, "the server names no job", client.connection().server().url);
  const client::JobRow& first = made.value.jobs.front();
  if (!words)
    say(dump_pretty(made.json));
  else if (made.value.jobs.size() == 1)
    tell(fmt::format("Job {} is {}: {}\n", first.id, printable(first.state.text),
                     client.page_of(first.id)));
  else
    tell(fmt::format("Jobs {} to {} are submitted: {}\n", first.id, made.value.jobs.back().id,
                     client.page_of(first.id)));
  if (!given.follow) return 0;
  std::vector<jobs::JobId> ids;
  for (const client::JobRow& row : made.value.jobs) ids.push_back(row.id);
  return follow_jobs(client, ids, interrupt.token());
}

}  // namespace

void add_submit(CLI::App& app, Action& action) {
  const auto given = std::make_shared<SubmitArguments>();
  CLI::App* command = add_known(app, "submit");
  add_submission_options(*command, given->submission);
  command->add_option("--template", given->template_name, "Begin with this template");
  command->add_option("--team", given->team, "For which of your teams");
  CLI::Option* code = command->add_option("--code", given->code, "The folder that the job works in")
                          ->type_name("DIR")
                          ->capture_default_str();
  command->add_flag("--no-code", given->no_code, "Send no folder")->excludes(code);
  command->add_flag("--send-secrets", given->send_secrets,
                    "Send files that look like secrets, too");
  command
      ->add_option("--schedule", given->schedule,
                   "Not now, but again and again: minute, hour, day, month, weekday in UTC")
      ->type_name("CRON");
  command->add_flag("--dry-run", given->dry_run, "Show the plan, submit nothing");
  command->add_flag("-f,--follow", given->follow,
                    "Show what happens until the job has ended, and end with its outcome");
  command->add_flag("-y,--yes", given->yes, "Do not ask on a terminal");
  add_server_options(*command, given->server);
  command->footer(
      std::string("Examples:\n"
                  "  assay submit --command 'python3 train.py' --procs 8 --follow\n"
                  "  assay submit quick\n"
                  "  assay submit suite.yaml --nodes 2 --queue night --time 2h\n"
                  "  assay submit --command './run.sh $ASSAY_ARRAY_INDEX' --array 0-9%4\n"
                  "  assay submit suite.yaml --dry-run\n"
                  "  assay submit acceptance.yaml --name nightly --schedule '0 3 * * mon-fri'\n"
                  "\n"
                  "The working folder is sent, without what .assayignore names; only what the "
                  "server does not\nhave (docs/platform.md).\n") +
      kServerHelp +
      "\nWith --follow: 0 finished and VALID, 4 the cluster could not run it, 5 failed,\n"
      "stopped or INCOMPLETE, 6 INVALID, 130 no longer followed.");
  command->callback([given, &action] { action = [given] { return submit_job(*given); }; });
}

}  // namespace assay::commands
