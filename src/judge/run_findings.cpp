#include "judge/run_findings.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "judge/round_journal.h"
#include "store/journal_records.h"

namespace assay::judge {

namespace {

Finding about_run(std::string rule, Severity severity, Aspect aspect, std::string reason,
                  std::string advice) {
  return {std::move(rule), severity, std::move(reason), std::move(advice), "", {}, aspect};
}

}  // namespace

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
  std::set<std::string> unproven;
  for (const Json& event : journal.events)
    if (store::event_of(event) == store::JournalEvent::run_unproven)
      for (const Json& reason : list_at(event, "reasons"))
        if (reason.is_string()) unproven.insert(reason.get<std::string>());
  for (const std::string& reason : unproven)
    findings.push_back(
        about_run("resumed-unproven", Severity::incomplete, Aspect::integrity,
                  "before the run went on: " + ellipsize(printable(reason), 300),
                  "no later seal can show what was not sealed then: run the suite again"));
  if (!run_has_ended(journal.events))
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
    if (const std::filesystem::path file = run.system_file();
        !std::filesystem::exists(std::filesystem::symlink_status(file))) {
      if (begun) problem = "is missing";
    } else if (Json read = parse_json_or_null(read_regular_file(file)); read.is_object()) {
      system = std::move(read);
    } else {
      problem = "is damaged: it is no JSON object";
    }
  } catch (const Error& error) {
    problem = "cannot be read: " + error.message();
  } catch (const std::exception&) {
    problem = "cannot be read";
  }
  if (problem.empty()) return {};
  return {about_run("system-known", Severity::incomplete, Aspect::completeness,
                    fmt::format("{} {}: nothing says on which machines it was measured",
                                layout::kSystem, problem),
                    "restore the file from a copy, or run the suite again")};
}

std::vector<Finding> unlisted_findings(int rounds, const RunSeal& seal) {
  if (rounds == 0 || seal.state == Soundness::unknown) return {};
  return {about_run(
      "rounds-listed", Severity::incomplete, Aspect::integrity,
      fmt::format("the files of {} were not listed when {} measured: nothing can show whether they "
                  "were changed before the run was sealed",
                  counted(rounds, "round"), rounds == 1 ? "it was" : "they were"),
      "an earlier version measured them, and a later one went on; run the suite again for evidence "
      "that can be checked")};
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
