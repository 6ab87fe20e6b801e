#include "judge/skipped_cases.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/integrity.h"
#include "judge/judge_round.h"
#include "judge/rules.h"
#include "plan/dependencies.h"
#include "store/journal_event.h"

namespace assay::judge {

namespace {

const CaseResult* find_result(const RunResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.cases, name, &CaseResult::name);
  return found == result.cases.end() ? nullptr : &*found;
}

bool has_completed(const CaseResult& result) {
  return !result.skipped && !result.rounds.empty() &&
         std::ranges::all_of(result.rounds, [](const RoundResult& round) {
           return round.status == RoundStatus::completed;
         });
}

bool broke(const std::vector<HookResult>& hooks) {
  return std::ranges::any_of(hooks, [](const HookResult& one) {
    return one.hook.required && one.hook.when == plan::HookTime::before &&
           (one.verdict == HookVerdict::failed || one.verdict == HookVerdict::timed_out);
  });
}

bool is_founded(const plan::Plan& plan, const plan::CasePlan& case_plan, const CaseResult& skipped,
                const RunResult& result) {
  switch (skipped.skipped->cause) {
    case plan::SkipCause::dependency:
      return std::ranges::any_of(case_plan.after, [&](const std::string& name) {
        const CaseResult* other = find_result(result, name);
        return other == nullptr || !has_completed(*other);
      });
    case plan::SkipCause::condition:
      return std::ranges::any_of(case_plan.only_if, [&](const plan::Condition& condition) {
        const std::vector<std::string> names = cases_of(plan, condition.of);
        return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
                 const CaseResult* other = find_result(result, name);
                 return other == nullptr || unmet(condition, *other).has_value();
               });
      });
    case plan::SkipCause::nodes:
      return true;  // no evidence can show that a host was away
    case plan::SkipCause::hook:
      break;
  }
  return broke(skipped.hooks) || broke(result.hooks);
}

HookVerdict verdict_of(RoundStatus status) {
  switch (status) {
    case RoundStatus::completed:
      return HookVerdict::passed;
    case RoundStatus::timed_out:
    case RoundStatus::stalled:
      return HookVerdict::timed_out;
    case RoundStatus::interrupted:
    case RoundStatus::not_run:
      return HookVerdict::not_run;
    default:
      return HookVerdict::failed;
  }
}

std::string hook_text(const plan::Hook& hook, const std::string& case_name) {
  return fmt::format("the hook '{}' {} {}", hook.name, to_text(hook.when),
                     case_name.empty() ? std::string("all cases") : "'" + case_name + "'");
}

// A hook's output is evidence like any other.
void add_misfits(const std::string& hook, const RoundIntegrity& integrity,
                 std::vector<Finding>& findings) {
  const auto add = [&](const std::vector<std::string>& problems, Severity severity) {
    if (problems.empty()) return;
    findings.push_back(
        {std::string(kHookEvidence),
         severity,
         fmt::format("the output of {} is not as it was recorded: {}{}", hook, problems.front(),
                     problems.size() > 1 ? fmt::format(", and {} more", problems.size() - 1) : ""),
         "restore the files from a copy, or run the suite again",
         "",
         {},
         Aspect::integrity});
  };
  add(integrity.missing, Severity::incomplete);
  add(integrity.changed, Severity::invalid);
  add(integrity.unlisted, Severity::invalid);
  add(integrity.broken, Severity::invalid);
}

}  // namespace

std::map<std::string, Skip> skipped_cases(const std::vector<Json>& events) {
  std::map<std::string, Skip> out;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    const auto kind = store::event_of(event);
    const std::string name = text_at(event, "case");
    if (kind == store::JournalEvent::round_start) out.erase(name);
    if (kind != store::JournalEvent::case_skipped) continue;
    const auto cause = parse_enum<plan::SkipCause>(text_at(event, "cause"));
    out[name] = Skip{cause.value_or(plan::SkipCause::dependency), text_at(event, "reason")};
  }
  return out;
}

CaseResult skipped_result(const plan::CasePlan& plan, const Skip& skip) {
  CaseResult result = planned_result(plan);
  result.repeats = std::max(plan.repeats, 1);
  result.skipped = skip;
  result.findings.push_back({"case-skipped", Severity::note, "the case was skipped: " + skip.reason,
                             skip.cause == plan::SkipCause::condition
                                 ? "nothing, unless it was meant to run"
                                 : "repair what it needs, then go on with 'assay run --resume' "
                                   "(with --failed to run what failed again)",
                             ""});
  return result;
}

std::optional<std::string> unmet(const plan::Condition& condition, const CaseResult& result) {
  const std::string verdict = result.skipped ? "SKIPPED" : std::string(to_string(result.validity));
  if (condition.metric.empty()) {
    if (std::ranges::find(condition.verdicts, verdict) != condition.verdicts.end())
      return std::nullopt;
    return fmt::format("the verdict of '{}' is {}, not {}", result.name, verdict,
                       join(condition.verdicts, " or "));
  }
  const auto summary = std::ranges::find_if(
      result.summary, [&](const Summary& one) { return one.info.name == condition.metric; });
  if (summary == result.summary.end())
    return fmt::format("{} of '{}' is not known", condition.metric, result.name);
  const auto outside = [&](const char* how, double bound) {
    return fmt::format("{} of '{}' is {}, {} {}", condition.metric, result.name,
                       format_number(summary->median), how, format_number(bound));
  };
  if (condition.min && !(summary->median >= *condition.min))
    return outside("below", *condition.min);
  if (condition.max && !(summary->median <= *condition.max))
    return outside("above", *condition.max);
  return std::nullopt;
}

std::vector<std::string> cases_of(const plan::Plan& plan, const std::string& name) {
  std::vector<std::string> out;
  for (const plan::CasePlan& one : plan.cases)
    if (one.name == name || (one.sweep && one.sweep->sweep == name)) out.push_back(one.name);
  return out;
}

std::vector<HookResult> judge_hooks(const store::RunDir& run, const RoundJournal& journal,
                                    const std::vector<plan::Hook>& hooks,
                                    const std::string& case_name, std::vector<Finding>& findings) {
  std::vector<HookResult> out;
  const bool begun = case_name.empty() ? journal.begun() : journal.last_round(case_name) > 0;
  for (const plan::Hook& hook : hooks) {
    const plan::CasePlan folder = plan::hook_case(hook, case_name, 1);
    HookResult result{hook};
    const int last = journal.last_round(folder.name);
    if (last > 0) {
      RoundEvidence evidence = journal.round(folder.name, last);
      check_integrity(run, folder, evidence);
      add_misfits(hook_text(hook, case_name), evidence.integrity, findings);
      result.verdict = verdict_of(evidence.status);
      result.reason = evidence.reason;
      if (evidence.start && evidence.end)
        result.seconds =
            static_cast<double>(evidence.end->mono_ns - evidence.start->mono_ns) * 1e-9;
      result.output =
          run.round_dir(folder.name, last).lexically_relative(run.path()).generic_string();
    }
    const Severity severity = hook.required ? Severity::incomplete : Severity::warning;
    const std::string name = hook_text(hook, case_name);
    if (result.verdict == HookVerdict::failed || result.verdict == HookVerdict::timed_out)
      findings.push_back({"hook-failed", severity,
                          name + " failed" + (result.reason.empty() ? "" : ": " + result.reason),
                          "its output is in " + result.output, ""});
    else if (result.verdict == HookVerdict::not_run && begun && hook.required)
      findings.push_back({"hook-run",
                          severity,
                          name + " has no result, though cases were run",
                          "go on with 'assay run --resume'",
                          "",
                          {},
                          Aspect::completeness});
    out.push_back(std::move(result));
  }
  return out;
}

void check_skips(const plan::Plan& plan, RunResult& result) {
  for (std::size_t i = 0; i < result.cases.size() && i < plan.cases.size(); ++i) {
    CaseResult& one = result.cases[i];
    if (!one.skipped || is_founded(plan, plan.cases[i], one, result)) continue;
    one.findings.push_back({"skip-founded",
                            Severity::incomplete,
                            "the case was skipped, and nothing in the evidence is a reason for it",
                            "run it: 'assay run --resume'",
                            "",
                            {},
                            Aspect::completeness});
  }
}

}  // namespace assay::judge
