#include "judge/judge.h"

#include <algorithm>
#include <map>
#include <thread>

#include "core/json.h"
#include "core/parallel.h"
#include "core/text.h"
#include "judge/ais_results.h"
#include "judge/challenge_answer.h"
#include "judge/cluster_findings.h"
#include "judge/device_findings.h"
#include "judge/integrity.h"
#include "judge/judge_round.h"
#include "judge/load.h"
#include "judge/provenance.h"
#include "judge/round_journal.h"
#include "judge/rules.h"
#include "judge/run_files.h"
#include "judge/run_findings.h"
#include "judge/run_seal.h"
#include "judge/scaling.h"
#include "judge/skipped_cases.h"
#include "judge/sweeps.h"

namespace assay::judge {

namespace {

bool fits_its_lists(const RoundIntegrity& found) {
  return found.missing.empty() && found.changed.empty() && found.unlisted.empty() &&
         found.broken.empty();
}

// The seal covers the journal, which lists the rounds' files: a seal that fits means nothing for a
// run whose files do not fit their lists.
void state_misfits(int rounds, RunSeal& seal) {
  if (rounds == 0 || seal.state != Soundness::ok) return;
  seal.state = Soundness::flawed;
  seal.text = "sealed, but evidence of " + counted(rounds, "round") + " was changed since";
}

RoundEvidence round_evidence(const plan::Plan& plan, const RoundJournal& journal,
                             const plan::CasePlan& case_plan, int number) {
  RoundEvidence evidence = journal.round(case_plan.name, number);
  evidence.one_clock = plan.cluster.traits.one_clock;
  evidence.supervised = plan.cluster.traits.starts_agents;
  evidence.telemetry_interval_s = seconds(plan.telemetry.interval);
  evidence.telemetry_enabled = plan.telemetry.enabled;
  return evidence;
}

void load_evidence(const store::RunDir& run, const plan::CasePlan& case_plan,
                   RoundEvidence& evidence, unsigned threads = 0) {
  load_files(run, case_plan, evidence, threads);
  load_ais_results(run, case_plan, evidence);
  if (uses_set_result(case_plan)) load_set_result_calls(run, case_plan, evidence);
}

// A case that repeats until its result is certain has the rounds that were begun, but at least its
// minimum.
int last_round(const plan::CasePlan& plan, const RoundJournal& journal) {
  if (!plan.until) return plan.rounds();
  const int fewest = plan.rounds() - plan.repeats + std::min(plan.until->min, plan.repeats);
  return std::clamp(journal.last_round(plan.name), std::min(fewest, plan.rounds()), plan.rounds());
}

// From this many cases on, cases are judged in parallel instead of the files of a round. The number
// at a time is limited, because a round's evidence can be large.
constexpr std::size_t kManyCases = 64;
constexpr unsigned kCasesAtOnce = 8;

struct JudgedRounds {
  std::vector<RoundResult> rounds{};
  std::vector<Finding> findings{};  // about the run as a whole
  int misfits = 0;
  int unlisted = 0;  // with a result but without lists, and no rule asks for them
};

// `threads` is for the files of a round; 0: one per processor.
JudgedRounds judge_rounds(const store::RunDir& run, const RoundJournal& journal,
                          const plan::CasePlan& case_plan, unsigned threads,
                          ChallengeAnswer& answer) {
  const plan::Plan& plan = run.plan();
  JudgedRounds out;
  const bool asks = std::ranges::find(case_plan.rules, "evidence_files", &catalog::Rule::fact) !=
                    case_plan.rules.end();
  const int last = last_round(case_plan, journal);
  for (int number = 1; number <= last; ++number) {
    RoundEvidence evidence = round_evidence(plan, journal, case_plan, number);
    check_integrity(run, case_plan, evidence, threads);
    out.misfits += fits_its_lists(evidence.integrity) ? 0 : 1;
    if (is_result(evidence.status) && !evidence.integrity.recorded.listed && !asks) ++out.unlisted;
    for (Finding& finding : unasked_findings(case_plan, evidence))
      out.findings.push_back(std::move(finding));
    load_evidence(run, case_plan, evidence, threads);
    if (plan.challenge) answer.see(run, case_plan, evidence);
    out.rounds.push_back(judge_round(case_plan, evidence));
  }
  return out;
}

// Keeps the plan's order, in which an answer to a challenge is read.
std::vector<JudgedRounds> judge_all_rounds(const store::RunDir& run, const RoundJournal& journal,
                                           const std::map<std::string, Skip>& skips,
                                           ChallengeAnswer& answer) {
  const std::vector<plan::CasePlan>& cases = run.plan().cases;
  const bool by_case = cases.size() >= kManyCases && !run.plan().challenge;
  const unsigned at_once =
      by_case ? std::clamp(std::thread::hardware_concurrency(), 1U, kCasesAtOnce) : 1;
  std::vector<JudgedRounds> out(cases.size());
  run_parallel(cases.size(), static_cast<int>(at_once), {},
               [&](std::size_t i, const std::stop_token& /*stop*/) {
                 if (!skips.contains(cases[i].name))
                   out[i] = judge_rounds(run, journal, cases[i], by_case ? 1 : 0, answer);
               });
  return out;
}

}  // namespace

RepeatState repeats_so_far(const store::RunDir& run, const plan::CasePlan& case_plan) {
  const RoundJournal journal(store::Journal::read(run.journal_file()));
  std::vector<RoundResult> rounds;
  const int last = std::min(journal.last_round(case_plan.name), case_plan.rounds());
  for (int number = std::max(case_plan.warmup_rounds, 0) + 1; number <= last; ++number) {
    RoundEvidence evidence = round_evidence(run.plan(), journal, case_plan, number);
    load_evidence(run, case_plan, evidence);
    rounds.push_back(judge_round(case_plan, evidence));
  }
  return repeat_state(case_plan, summarize_case(case_plan, std::move(rounds)));
}

EvidenceCheck check_evidence(const store::RunDir& run) {
  const plan::Plan& plan = run.plan();
  const store::JournalReading records = store::Journal::read_all(run.journal_file());
  const RoundJournal journal(records.events);
  EvidenceCheck check;
  std::vector<Finding> findings;
  check.seal = check_seal(run, records.events, findings);
  for (Finding& finding : run_file_findings(run, records)) findings.push_back(std::move(finding));
  for (const Finding& finding : findings) check.faults.push_back(finding.reason);
  check.validity = verdict(findings);
  if (check.seal.state == Soundness::unknown)
    check.validity = worst(check.validity, Validity::incomplete);
  int misfits = 0;
  std::vector<Finding> hook_findings;
  (void)judge_hooks(run, journal, plan.hooks, "", hook_findings);
  for (const plan::CasePlan& case_plan : plan.cases) {
    (void)judge_hooks(run, journal, case_plan.hooks, case_plan.name, hook_findings);
    const int last = last_round(case_plan, journal);
    for (int number = 1; number <= last; ++number) {
      RoundEvidence evidence = round_evidence(plan, journal, case_plan, number);
      check_integrity(run, case_plan, evidence);
      if (fits_its_lists(evidence.integrity)) continue;
      ++misfits;
      const RoundIntegrity& found = evidence.integrity;
      for (const auto* places : {&found.missing, &found.changed, &found.unlisted, &found.broken})
        check.faults.insert(check.faults.end(), places->begin(), places->end());
    }
  }
  for (const Finding& finding : hook_findings) {
    if (finding.aspect != Aspect::integrity) continue;  // ignores how a hook ended
    ++misfits;
    check.faults.push_back(finding.reason);
  }
  state_misfits(misfits, check.seal);
  if (misfits > 0) check.validity = Validity::invalid;
  return check;
}

std::optional<std::string> unmet_condition(const store::RunDir& run,
                                           const plan::CasePlan& case_plan) {
  const plan::Plan& plan = run.plan();
  const std::vector<Json> events = store::Journal::read(run.journal_file());
  const RoundJournal journal(events);
  const std::map<std::string, std::string> ended = store::ended_repeats(events);
  const std::map<std::string, Skip> skips = skipped_cases(events);
  for (const plan::Condition& condition : case_plan.only_if) {
    const std::vector<std::string> names = cases_of(plan, condition.of);
    if (names.empty()) return "'" + condition.of + "' is not in the plan";
    for (const std::string& name : names) {
      const plan::CasePlan& other = *plan.find_case(name);
      CaseResult result;
      if (const auto skip = skips.find(name); skip != skips.end()) {
        result = skipped_result(other, skip->second);
      } else {
        std::vector<RoundResult> rounds;
        const int last = last_round(other, journal);
        for (int number = 1; number <= last; ++number) {
          RoundEvidence evidence = round_evidence(plan, journal, other, number);
          check_integrity(run, other, evidence);
          load_evidence(run, other, evidence);
          rounds.push_back(judge_round(other, evidence));
        }
        const auto why = ended.find(name);
        result = summarize_case(other, std::move(rounds),
                                why == ended.end() ? std::string() : why->second);
      }
      if (std::optional<std::string> why = unmet(condition, result)) return why;
    }
  }
  return std::nullopt;
}

RunResult judge_run(const store::RunDir& run) {
  const plan::Plan& plan = run.plan();
  RunResult result;
  result.run_id = plan.run_id;
  result.suite = plan.suite;

  const store::JournalReading records = store::Journal::read_all(run.journal_file());
  const RoundJournal journal(records.events);
  const std::map<std::string, std::string> ended = store::ended_repeats(records.events);
  result.provenance = provenance_of(plan, records.unreadable.size());
  const auto found = [&](std::vector<Finding> findings) {
    for (Finding& finding : findings) result.findings.push_back(std::move(finding));
  };
  found(journal_findings(records));
  found(read_system(run, journal.begun(), result.system));
  found(device_findings(result.system, run_has_ended(records.events)));
  found(cluster_findings(plan, result.system, records.events));
  found(left_out_findings(plan));
  result.seal = check_seal(run, records.events, result.findings);
  found(run_file_findings(run, records));

  result.hooks = judge_hooks(run, journal, plan.hooks, "", result.findings);

  int misfits = 0;
  int unlisted = 0;
  ChallengeAnswer answer(plan);
  const Expectations expectations(plan);
  const std::map<std::string, Skip> skips = skipped_cases(records.events);
  std::vector<JudgedRounds> judged = judge_all_rounds(run, journal, skips, answer);
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const plan::CasePlan& case_plan = plan.cases[i];
    std::vector<HookResult> hooks =
        judge_hooks(run, journal, case_plan.hooks, case_plan.name, result.findings);
    if (const auto skip = skips.find(case_plan.name); skip != skips.end()) {
      result.cases.push_back(skipped_result(case_plan, skip->second));
      result.cases.back().hooks = std::move(hooks);
      add_configuration(plan, case_plan, result.cases.back());
      continue;
    }
    misfits += judged[i].misfits;
    unlisted += judged[i].unlisted;
    found(std::move(judged[i].findings));
    std::vector<RoundResult>& rounds = judged[i].rounds;
    const auto why = ended.find(case_plan.name);
    result.cases.push_back(summarize_case(case_plan, std::move(rounds),
                                          why == ended.end() ? std::string() : why->second,
                                          expectations.of(case_plan, result.system)));
    result.cases.back().hooks = std::move(hooks);
    add_configuration(plan, case_plan, result.cases.back());
  }
  found(unlisted_findings(unlisted, result.seal));
  if (plan.challenge) result.provenance["answer"] = answer.json();
  result.validity = plan.cases.empty() ? Validity::incomplete : verdict(result.findings);
  check_skips(plan, result);
  for (const CaseResult& one : result.cases) {
    // A case that was not meant to run does not count; one that could not run does.
    const bool unmeant = one.skipped && one.skipped->cause == plan::SkipCause::condition;
    result.validity = worst(result.validity, unmeant ? verdict(one.findings) : one.validity);
  }
  misfits += static_cast<int>(
      std::ranges::count(result.findings, std::string(kHookEvidence), &Finding::rule));
  state_misfits(misfits, result.seal);
  add_scaling(plan, result.cases);
  result.sweeps = sweep_grids(plan, result.cases);
  return result;
}

}  // namespace assay::judge
