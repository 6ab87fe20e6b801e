#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/extras.h"
#include "commands/base/terminal.h"
#include "commands/runs/detach.h"
#include "commands/runs/execute.h"
#include "commands/runs/fix_batches.h"
#include "commands/runs/planning.h"
#include "commands/runs/push.h"
#include "commands/runs/web_port.h"
#include "core/any_fields.h"
#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "judge/resume_check.h"
#include "lang/language.h"
#include "launch/backends/make_backend.h"
#include "launch/run_records.h"
#include "page/shown_plan.h"
#include "plan/make_plan.h"
#include "store/journal.h"
#include "store/journal_records.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

struct RunOptions {
  PlanRequest plan;
  std::string out = "results";
  std::string resume;
  bool failed = false;  // also rerun failed rounds of the resumed run
  std::string format = "text";
  bool dry_run = false;
  bool detach = false;
  PushRequest push;       // no push if its url is empty
  std::string challenge;  // file, address or text; empty: none
  std::string web;        // port of the live pages, or "any"; empty: none
};

int show_plan(const RunOptions& options) {
  const plan::Plan plan = make_plan(options.plan);
  const launch::DryRun execution =
      launch::describe_run(plan, program_folder(), fs::absolute(options.out) / plan.run_id);
  if (options.format == "json")
    fmt::print("{}", dump_pretty({{"plan", plan::to_json(plan)}, {"execution", execution.json}}));
  else
    say(page::plan_in(lang::reader_language(), plan::render_text(plan) + "\n" + execution.text));
  return 0;
}

// A resumed run is sealed again, so what exists must be what was measured. Returns what nothing can
// show about it.
std::vector<std::string> check_unchanged(const store::RunDir& run) {
  constexpr std::size_t kShown = 8;
  if (!fs::exists(fs::symlink_status(run.journal_file()))) return {};  // not yet begun
  const store::RunLock lock(run.path());
  judge::ResumeCheck check = judge::check_before_resume(run);
  if (check.faults.empty()) return std::move(check.unproven);
  std::string text = "the run cannot go on, because it is not as it was measured:";
  for (std::size_t i = 0; i < std::min(kShown, check.faults.size()); ++i)
    text += "\n  " + printable(check.faults[i]);
  if (check.faults.size() > kShown)
    text += fmt::format("\n  and {} more", check.faults.size() - kShown);
  throw Error(ErrorKind::invalid, text, run.path().string(),
              "restore the files from a copy, or start a new run");
}

// Relative paths of commands lead from the folder in which the run was started: from another one
// they would lead to other programs.
void go_to_its_start(const store::RunDir& run) {
  if (!fs::exists(run.journal_file())) return;
  for (const Json& event : store::Journal::read(run.journal_file())) {
    if (store::event_of(event) != store::JournalEvent::run_start) continue;
    const fs::path folder = fields_from_any<store::RunStart>(event).folder;
    std::error_code ec;
    if (folder.empty() || fs::equivalent(folder, fs::current_path(), ec)) return;
    fs::current_path(folder, ec);
    if (ec)
      throw Error(ErrorKind::environment, "the folder in which the run was started is not there",
                  printable(folder.string()),
                  "its commands run in it: restore it, or start a new run");
    return tell_error("note: going on in " + printable(folder.string()) +
                      ", where the run was started\n");
  }
}

fs::path absolute_or_empty(const std::string& path) {
  return path.empty() ? fs::path() : fs::absolute(path);
}

int run(const RunOptions& options) {
  if (options.dry_run) return show_plan(options);
  const std::uint16_t port = options.web.empty() ? 0 : web_port(options.web);
  const auto begin = [&] {
    plan::Plan plan = make_plan(options.plan);
    fix_batches(plan);
    return store::RunDir::create(options.out, plan);
  };
  const store::RunDir run =
      options.resume.empty() ? begin() : store::RunDir::open(fs::absolute(options.resume));
  need_backend(run.plan());
  PushRequest request = options.push;
  request.token_file = absolute_or_empty(request.token_file).string();
  request.ca = absolute_or_empty(request.ca).string();
  std::vector<std::string> unproven;
  if (!options.resume.empty()) {
    unproven = check_unchanged(run);
    go_to_its_start(run);
  }
  if (options.failed)
    tell(counted(launch::reopen_failed_rounds(run, unproven), "failed round") + " to run again\n");
  if (options.detach) return detach(run);
  // Whether the tester would let us in shows before hours of training, not after them.
  if (!request.url.empty()) extras_for("--push").check_token(request.token_file);
  std::unique_ptr<LivePages> web;
  if (!options.web.empty()) {
    web = extras_for("--web").show_run(run.path(), port);
    tell("metrics and console: " + web->address() + "\n");
  }
  const int code = execute(run, nullptr, std::move(unproven));
  web.reset();
  show_train_records(run);
  if (request.url.empty()) return code;
  request.run = run.path().string();
  const int pushed = extras_for("--push").push(request);
  return code != 0 ? code : pushed;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a suite and judge the result");
  command
      ->add_option("suite", options->plan.suite,
                   "Suite file, or the name of one in conf/suites (default: by this "
                   "machine: gpu-quick, or quick for the CPU)")
      ->type_name("SUITE");
  command
      ->add_option("--set", options->plan.set,
                   "Override a setting, key=value; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--only", options->plan.only,
                   "Run only the cases that match this name or pattern")
      ->type_name("CASE")
      ->allow_extra_args(false);
  command->add_option("--repeat", options->plan.repeat, "Rounds per case, instead of the suite's")
      ->check(CLI::Range(1, 1000));
  command->add_option("--out", options->out, "Folder for the runs (default: results)")
      ->type_name("DIR");
  auto* resume =
      command
          ->add_option(
              "--resume", options->resume,
              "Go on with a run that was interrupted; finished rounds stay, failed ones too")
          ->type_name("RUN");
  command
      ->add_flag("--failed", options->failed,
                 "With --resume: run rounds again that failed, timed out, stalled or could not be "
                 "recorded")
      ->needs(resume);
  auto* dry_run =
      command->add_flag("--dry-run", options->dry_run, "Print the whole plan and run nothing");
  command
      ->add_flag("--detach", options->detach,
                 "Leave the run going without this terminal: under sbatch with the slurm launcher")
      ->excludes(dry_run);
  command
      ->add_flag("--web{any}", options->web,
                 "Show metrics and console in the browser while it runs; --web=PORT chooses the "
                 "port")
      ->excludes(dry_run)
      ->excludes(command->get_option("--detach"));
  CLI::Option* push = command->add_option("--push", options->push.url,
                                          "Send the run to this tester, as 'assay push' does");
  push->type_name("URL")->excludes(dry_run)->excludes(command->get_option("--detach"));
  command
      ->add_option("--token-file", options->push.token_file,
                   "Of --push and --challenge URL: file with the token; else ASSAY_TESTER_TOKEN")
      ->type_name("FILE");
  command
      ->add_option("--ca", options->push.ca,
                   "Of --push and --challenge URL: certificate to trust, PEM")
      ->type_name("FILE");
  command->add_option("--format", options->format, "Of the plan: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->needs(dry_run);
  command
      ->add_option("--challenge", options->challenge,
                   "Answer a tester's challenge: its case alone, with its seed; a file, the "
                   "challenge's address or its text")
      ->type_name("CHALLENGE");
  for (const char* other : {"suite", "--set", "--only", "--repeat", "--dry-run", "--challenge"})
    resume->excludes(command->get_option(other));
  command->footer(
      "Examples:\n"
      "  assay run                                  the suite that fits this machine\n"
      "  assay run suite.yaml --only 'matmul*'      some of its cases\n"
      "  assay run suite.yaml --set config.size=256 --set telemetry.interval=0.5s\n"
      "  assay run suite.yaml --challenge c.json    measure a case again as a tester asked\n"
      "  assay run --resume results/latest          go on after an interruption\n"
      "  assay run suite.yaml --web                 watch it in the browser\n"
      "  assay run --resume results/latest --failed and run failed rounds again\n"
      "  assay run slurm-4-nodes --detach           submit it; assay top, stop and report find it\n"
      "\n"
      "Ctrl-C once stops the ranks gently and keeps what was measured; twice kills them at once.");
  command->callback([options, &action] {
    action = [options] {
      // Before anything is done: what needs assay-full begins again there.
      for (const auto& [name, value] :
           {std::pair("--push", &options->push.url), std::pair("--web", &options->web)})
        if (!value->empty()) (void)extras_for(name);
      if (!options->challenge.empty())
        options->plan.challenge =
            extras_for("--challenge")
                .read_challenge(options->challenge, options->push.token_file, options->push.ca);
      return run(*options);
    };
  });
}

}  // namespace assay::commands
