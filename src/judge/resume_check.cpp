#include "judge/resume_check.h"

#include <fmt/format.h>

#include "judge/integrity.h"
#include "judge/round_journal.h"
#include "judge/run_files.h"
#include "judge/run_findings.h"
#include "judge/run_seal.h"
#include "plan/dependencies.h"
#include "store/journal_records.h"

namespace assay::judge {

namespace {

/// Whether the program that last worked on the run lists and seals its results.
bool leaves_evidence(const std::vector<Json>& events) {
  bool leaves = false;
  for (const Json& event : events)
    if (store::starts_run(store::event_of(event)))
      leaves = fields_from_any<store::RunStart>(event).evidence > 0;
  return leaves;
}

void check_round(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence evidence,
                 std::vector<std::string>& faults) {
  // A round that could not be written has no list to match.
  if (!is_result(evidence.status) || evidence.status == RoundStatus::unrecorded) return;
  check_integrity(run, plan, evidence);
  const RoundIntegrity& found = evidence.integrity;
  for (const auto* places : {&found.missing, &found.changed, &found.unlisted, &found.broken})
    faults.insert(faults.end(), places->begin(), places->end());
}

}  // namespace

ResumeCheck check_before_resume(const store::RunDir& run) {
  const plan::Plan& plan = run.plan();
  const store::JournalReading records = store::Journal::read_all(run.journal_file());
  const RoundJournal journal(records.events);
  ResumeCheck check;
  std::vector<Finding> findings;
  (void)check_seal(run, records.events, findings);
  for (Finding& finding : findings) {
    if (finding.rule == kUnsealedRule) {
      // A run that says why it has no seal is proven by its lists, like one that was killed.
      if (leaves_evidence(records.events) && !store::ended_unsealed(records.events))
        check.unproven.push_back(std::move(finding.reason));
    } else if (finding.rule == kUnsignedRule) {
      if (finding.severity > Severity::note) check.unproven.push_back(std::move(finding.reason));
    } else {
      check.faults.push_back(std::move(finding.reason));
    }
  }
  for (Finding& finding : run_file_findings(run, records))
    check.faults.push_back(std::move(finding.reason));
  const auto check_hooks = [&](const std::vector<plan::Hook>& hooks, const std::string& name) {
    for (const plan::Hook& hook : hooks) {
      const plan::CasePlan folder = plan::hook_case(hook, name, 1);
      if (const int last = journal.last_round(folder.name); last > 0)
        check_round(run, folder, journal.round(folder.name, last), check.faults);
    }
  };
  check_hooks(plan.hooks, "");
  for (const plan::CasePlan& case_plan : plan.cases) {
    check_hooks(case_plan.hooks, case_plan.name);
    const int last = journal.last_round(case_plan.name);
    for (int number = 1; number <= last; ++number)
      check_round(run, case_plan, journal.round(case_plan.name, number), check.faults);
    if (last > case_plan.rounds())
      check.faults.push_back(fmt::format("{}: {} was run {} times, but the plan has {} of it",
                                         layout::kPlan, case_plan.name, last, case_plan.rounds()));
  }
  return check;
}

}  // namespace assay::judge
