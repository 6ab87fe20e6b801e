#include "commands/runs/execute.h"

#include <filesystem>

#include "commands/base/outcome.h"
#include "commands/base/terminal.h"
#include "commands/runs/progress_display.h"
#include "core/error.h"
#include "core/host.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "judge/judge.h"
#include "launch/backends/make_backend.h"
#include "launch/run_loop.h"
#include "launch/run_records.h"

namespace assay::commands {

namespace {

// The original failure must be reported last, even if the reports cannot be written.
void report_what_there_is(const store::RunDir& run) {
  try {
    (void)conclude(run);
  } catch (const Error& error) {
    say(std::string(error.what()) + "\n");
  }
}

}  // namespace

int execute(const store::RunDir& run, Json declared, std::vector<std::string> unproven,
            const std::map<std::string, std::string>& secrets) {
  tell("run " + run.path().string() + "\n");
  try {
    Progress progress(terminal());
    launch::RunLoop loop(run, progress, [&secrets](const launch::BackendContext& given) {
      launch::BackendContext context = given;
      context.env = secrets;
      return launch::make_backend(context, program_folder());
    });
    loop.declare(std::move(declared));
    loop.go_on_unproven(std::move(unproven));
    loop.repeat_until([&run](const plan::CasePlan& plan_case) -> std::optional<std::string> {
      const judge::RepeatState state = judge::repeats_so_far(run, plan_case);
      return state.enough ? std::optional(state.why) : std::nullopt;
    });
    loop.run_only_if(
        [&run](const plan::CasePlan& plan_case) { return judge::unmet_condition(run, plan_case); });
    loop.execute();
  } catch (const Error&) {
    // Earlier measurements are not lost.
    if (!launch::finished_rounds(store::Journal::read(run.journal_file())).empty())
      report_what_there_is(run);
    throw;
  }
  return conclude(run);
}

void show_train_records(const store::RunDir& run) {
  for (const plan::CasePlan& plan_case : run.plan().cases)
    for (int round = 1; round <= plan_case.rounds(); ++round) {
      const std::filesystem::path folder = run.round_dir(plan_case.name, round);
      const std::string record = read_regular_file_or_empty(folder / layout::kTrainResult);
      if (record.empty()) continue;
      say("\n" + read_regular_file_or_empty(folder / layout::kReportText) +
          "train_result_info: " + record);
    }
}

}  // namespace assay::commands
