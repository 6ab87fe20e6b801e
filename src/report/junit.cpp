#include "report/junit.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "judge/rules.h"
#include "page/markup.h"
#include "report/present.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::Finding;
using judge::RoundResult;
using judge::Severity;
using judge::Validity;

double round_seconds(const RoundResult& round) {
  const judge::Metric* metric = find_metric(round, "e2e_time");
  if (metric != nullptr && std::isfinite(metric->value)) return metric->value;
  double end = 0;
  for (const judge::Phase& phase : round.phases)
    if (std::isfinite(phase.end_s)) end = std::max(end, phase.end_s);
  return end;
}

// The problem of one entry, in the words of its findings.
struct Problem {
  std::string message;
  std::string type;
  std::string body;
};

Problem problem_of(const std::vector<Finding>& findings, Validity validity,
                   const std::string& reason) {
  Problem problem{reason, std::string(judge::to_string(validity)), ""};
  bool named = false;
  for (const Finding& finding : findings) {
    if (finding.severity < Severity::incomplete) continue;
    if (!named) {
      problem.message = finding.reason;
      problem.type = finding.rule;
      named = true;
    }
    problem.body += fmt::format("{}: {}", finding.rule, finding.reason);
    if (!finding.where.empty()) problem.body += " (" + finding.where + ")";
    problem.body += '\n';
    if (!finding.advice.empty()) problem.body += "  what to do: " + finding.advice + "\n";
    for (const std::string& quoted : finding.quote) problem.body += "  | " + quoted + "\n";
  }
  if (!reason.empty() && reason != problem.message) problem.body += "round: " + reason + "\n";
  if (problem.message.empty()) problem.message = judge::to_string(validity);
  return problem;
}

void add_problem(std::string& out, Validity validity, const Problem& problem) {
  const std::string_view element = validity == Validity::invalid ? "failure" : "error";
  out += fmt::format("      <{0} message=\"{1}\" type=\"{2}\">{3}</{0}>\n", element,
                     page::escape_markup(problem.message), page::escape_markup(problem.type),
                     page::escape_markup(problem.body));
}

struct Counts {
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  double seconds = 0;

  void add(Validity validity) {
    ++tests;
    if (validity == Validity::invalid) ++failures;
    if (validity == Validity::incomplete) ++errors;
  }
};

void add_round(std::string& out, Counts& counts, const CaseResult& case_result,
               const RoundResult& round) {
  const double seconds = round_seconds(round);
  counts.seconds += seconds;
  out += fmt::format("    <testcase classname=\"{}\" name=\"round {}\" time=\"{:.3f}\"",
                     page::escape_markup(case_result.name), round.round, seconds);
  if (round.status == RoundStatus::not_run && round.findings.empty()) {
    ++counts.tests;
    ++counts.skipped;
    out += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                       page::escape_markup(round.reason.empty() ? "not run" : round.reason));
    return;
  }
  counts.add(round.validity);
  if (round.validity == Validity::valid) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  add_problem(out, round.validity, problem_of(round.findings, round.validity, round.reason));
  out += "    </testcase>\n";
}

void add_skipped(std::string& out, Counts& counts, const CaseResult& case_result) {
  ++counts.tests;
  ++counts.skipped;
  out += fmt::format(
      "    <testcase classname=\"{}\" name=\"case\" time=\"0.000\">\n"
      "      <skipped message=\"{}\"/>\n    </testcase>\n",
      page::escape_markup(case_result.name), page::escape_markup(case_result.skipped->reason));
}

void add_hooks(std::string& out, Counts& counts, const std::vector<judge::HookResult>& hooks,
               const std::string& of) {
  for (const judge::HookResult& hook : hooks) {
    ++counts.tests;
    const double seconds = hook.seconds.value_or(0);
    counts.seconds += seconds;
    out += fmt::format("    <testcase classname=\"{}\" name=\"hook {} {}\" time=\"{:.3f}\"",
                       page::escape_markup(of), to_text(hook.hook.when),
                       page::escape_markup(hook.hook.name), seconds);
    if (hook.verdict == judge::HookVerdict::passed) {
      out += "/>\n";
      continue;
    }
    const bool skipped = hook.verdict == judge::HookVerdict::not_run || !hook.hook.required;
    ++(skipped ? counts.skipped : counts.failures);
    out += fmt::format(">\n      <{} message=\"{}\"/>\n    </testcase>\n",
                       skipped ? "skipped" : "failure",
                       page::escape_markup(hook.reason.empty() ? std::string(to_text(hook.verdict))
                                                               : hook.reason));
  }
}

// A case can be worse than all its rounds (because of their spread, or missing rounds).
void add_case(std::string& out, Counts& counts, const CaseResult& case_result) {
  if (case_result.skipped) add_skipped(out, counts, case_result);
  if (case_result.skipped || case_result.validity == Validity::valid) return;
  for (const RoundResult& round : case_result.rounds)
    if (round.validity == case_result.validity) return;
  counts.add(case_result.validity);
  out += fmt::format("    <testcase classname=\"{}\" name=\"case\" time=\"0.000\">\n",
                     page::escape_markup(case_result.name));
  add_problem(out, case_result.validity,
              problem_of(case_result.findings, case_result.validity, ""));
  out += "    </testcase>\n";
}

// A run can likewise be worse than its cases (because of its seal or journal).
void add_run(std::string& out, Counts& counts, const judge::RunResult& result) {
  const Validity validity = judge::verdict(result.findings);
  if (validity == Validity::valid) return;
  counts.add(validity);
  out += "    <testcase classname=\"run\" name=\"run\" time=\"0.000\">\n";
  add_problem(out, validity, problem_of(result.findings, validity, ""));
  out += "    </testcase>\n";
}

}  // namespace

std::string render_junit(const judge::RunResult& result) {
  std::string body;
  Counts counts;
  std::string started;
  for (const CaseResult& case_result : result.cases) {
    for (const RoundResult& round : case_result.rounds) {
      if (started.empty()) started = round.started;
      add_round(body, counts, case_result, round);
    }
    add_case(body, counts, case_result);
    add_hooks(body, counts, case_result.hooks, case_result.name);
  }
  add_hooks(body, counts, result.hooks, "run");
  add_run(body, counts, result);
  const std::string name = result.suite.empty() ? result.run_id : result.suite;
  const std::string totals =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                  counts.tests, counts.failures, counts.errors, counts.skipped, counts.seconds);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"assay\" {}>\n", totals);
  out += fmt::format("  <testsuite name=\"{}\" {}", page::escape_markup(name), totals);
  if (!started.empty()) out += fmt::format(" timestamp=\"{}\"", page::escape_markup(started));
  out += fmt::format(
      ">\n    <properties>\n      <property name=\"run_id\" value=\"{}\"/>\n"
      "      <property name=\"validity\" value=\"{}\"/>\n    </properties>\n",
      page::escape_markup(result.run_id), judge::to_string(result.validity));
  out += body;
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace assay::report
