#include "judge/run_findings.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/files.h"
#include "core/json_access.h"
#include "core/run_layout.h"

namespace assay::judge {

namespace {

Finding about_run(std::string rule, Severity severity, Aspect aspect, std::string reason,
                  std::string advice) {
  return {std::move(rule), severity, std::move(reason), std::move(advice), "", {}, aspect};
}

}  // namespace

bool has_ended(const store::JournalReading& journal) {
  bool ended = false;
  for (const Json& event : journal.events) {
    const std::string kind = text_at(event, "event");
    if (kind == "run_end") ended = true;
    if (kind == "run_start" || kind == "run_resume" || kind == "round_start" ||
        kind == "round_reopened")
      ended = false;
  }
  return ended;
}

std::vector<Finding> journal_findings(const store::JournalReading& journal) {
  std::vector<Finding> findings;
  std::vector<std::size_t> lost;
  for (const store::UnreadableLine& line : journal.unreadable) {
    if (!line.torn)
      lost.push_back(line.line);
    else
      findings.push_back(about_run(
          "journal-torn", Severity::note, Aspect::completeness,
          fmt::format("line {} of {} was cut off while it was written", line.line,
                      layout::kJournal),
          "the run was killed there, or the machine lost power: what came before it counts"));
  }
  if (!lost.empty())
    findings.push_back(about_run(
        "journal-readable", Severity::incomplete, Aspect::completeness,
        fmt::format("{} line{} of {} cannot be read, the first is line {}: what {} said is not "
                    "known",
                    lost.size(), lost.size() == 1 ? "" : "s", layout::kJournal, lost.front(),
                    lost.size() == 1 ? "it" : "they"),
        "restore the file from a copy, or run the suite again"));
  if (!has_ended(journal))
    findings.push_back(about_run(
        "run-ended", Severity::incomplete, Aspect::completeness,
        "the run has not ended: it still goes on, or it was killed",
        "'assay report' again when it has ended; a run that was killed goes on with 'assay run "
        "--resume'"));
  return findings;
}

std::vector<Finding> read_system(const store::RunDir& run, bool begun, Json& system) {
  std::string problem;
  try {
    if (const std::filesystem::path file = run.system_file(); !std::filesystem::exists(file)) {
      if (begun) problem = "is missing";
    } else if (Json read = parse_json_or_null(read_file(file)); read.is_object()) {
      system = std::move(read);
    } else {
      problem = "is damaged: it is no JSON object";
    }
  } catch (const std::exception&) {
    problem = "cannot be read";
  }
  if (problem.empty()) return {};
  return {about_run("system-known", Severity::incomplete, Aspect::completeness,
                    fmt::format("{} {}: nothing says on which machines it was measured",
                                layout::kSystem, problem),
                    "restore the file from a copy, or run the suite again")};
}

std::vector<Finding> left_out_findings(const plan::Plan& plan) {
  std::vector<Finding> findings;
  for (const plan::LeftOut& left : plan.left_out)
    findings.push_back(about_run("case-left-out", Severity::note, Aspect::result,
                                 fmt::format("{} was left out: it {}", left.name, left.reason),
                                 "a machine that has it runs the case"));
  return findings;
}

}  // namespace assay::judge
