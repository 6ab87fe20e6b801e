#include "judge/judge.h"

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "judge/ais_results.h"
#include "judge/load.h"
#include "judge/provenance.h"
#include "judge/round.h"
#include "judge/rules.h"
#include "judge/scaling.h"

namespace assay::judge {

RunResult judge_run(const store::RunDir& run) {
  const plan::Plan& plan = run.plan();
  RunResult result;
  result.run_id = plan.run_id;
  result.suite = plan.suite;

  std::size_t skipped = 0;
  const RoundJournal journal(store::Journal::read(run.journal_file(), &skipped));
  result.provenance = provenance_of(plan, skipped);
  if (const std::string text = read_file_or_empty(run.system_file()); !text.empty()) {
    Json system = parse_json_or_null(text);
    if (system.is_object()) result.system = std::move(system);
  }

  result.validity = plan.cases.empty() ? Validity::incomplete : Validity::valid;
  for (const plan::CasePlan& case_plan : plan.cases) {
    std::vector<RoundResult> rounds;
    for (int number = 1; number <= case_plan.repeats; ++number) {
      RoundEvidence evidence = journal.round(case_plan.name, number);
      evidence.one_clock = plan.cluster.traits.one_clock;
      evidence.telemetry_interval_s = seconds(plan.telemetry.interval);
      evidence.telemetry_enabled = plan.telemetry.enabled;
      load_files(run, case_plan, evidence);
      load_ais_results(run, case_plan, evidence);
      if (uses_set_result(case_plan)) load_set_result_calls(run, case_plan, evidence);
      rounds.push_back(judge_round(case_plan, evidence));
    }
    result.cases.push_back(summarize_case(case_plan, std::move(rounds)));
    add_configuration(plan, case_plan, result.cases.back());
    result.validity = worst(result.validity, result.cases.back().validity);
  }
  add_scaling(plan, result.cases);
  return result;
}

}  // namespace assay::judge
