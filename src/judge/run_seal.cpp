#include "judge/run_seal.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_error.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "evidence/seal.h"
#include "judge/round_journal.h"

namespace assay::judge {

namespace fs = std::filesystem;

namespace {

using evidence::FileMatch;
using evidence::FileRecord;
using evidence::SealCheck;
using evidence::SignatureState;

constexpr std::string_view kSealAdvice =
    "the files of a run must stay as they were: restore them from a copy, or run the suite again";

struct SealProblem {
  std::string rule;
  Severity severity = Severity::invalid;
  std::string reason;
  std::string advice{kSealAdvice};
};

std::string misfit_text(const SealCheck::Misfit& misfit) {
  switch (misfit.match) {
    case FileMatch::missing:
      return "is gone";
    case FileMatch::shorter:
      return "is shorter than it was";
    case FileMatch::longer:
      return "is longer than it was";
    case FileMatch::different:
    case FileMatch::same:
      break;
  }
  return "has another content";
}

bool lists(const evidence::Seal& seal, std::string_view name) {
  return std::ranges::find(seal.files, name, &FileRecord::name) != seal.files.end();
}

std::vector<SealProblem> problems_of(const SealCheck& check, const store::RunDir& run,
                                     const std::set<std::string>& unreadable,
                                     const std::string& why_unsigned) {
  std::vector<SealProblem> problems;
  if (!check.seal) {
    problems.push_back({"seal-readable", Severity::incomplete,
                        fmt::format("{} is damaged: {}", layout::kSeal, check.problem)});
    return problems;
  }
  if (check.signature == SignatureState::wrong)
    problems.push_back(
        {"seal-signature", Severity::invalid,
         fmt::format("the signature of {} does not fit: the seal, or the list in it, "
                     "was changed",
                     layout::kSeal)});
  if (check.signature == SignatureState::unsigned_)
    problems.push_back(
        {std::string(kUnsignedRule), why_unsigned.empty() ? Severity::incomplete : Severity::note,
         why_unsigned.empty()
             ? fmt::format("{} is not signed: anybody can have written it", layout::kSeal)
             : fmt::format("{} is not signed, because the run had no key ({}): it proves that "
                           "nothing was changed by accident, and not by whom it was measured",
                           layout::kSeal, ellipsize(printable(why_unsigned), 300)),
         "'assay key' shows the key that runs are signed with, and makes one"});
  for (const SealCheck::Misfit& misfit : check.misfits)
    problems.push_back(
        {"seal-fits", Severity::invalid,
         fmt::format("{} is not what was sealed: it {}", printable(misfit.name),
                     unreadable.contains(misfit.name) ? "is not a regular file, or cannot be read"
                                                      : misfit_text(misfit))});
  for (const std::string_view name : {layout::kPlan, layout::kJournal, layout::kSystem})
    if (!lists(*check.seal, name) && fs::exists(run.path() / name))
      problems.push_back(
          {"seal-lists", Severity::invalid, fmt::format("the seal does not cover {}", name)});
  return problems;
}

}  // namespace

RunSeal check_seal(const store::RunDir& run, const std::vector<Json>& journal,
                   std::vector<Finding>& findings) {
  const bool ended = run_has_ended(journal);
  const fs::path file = run.path() / layout::kSeal;
  RunSeal seal;
  std::vector<SealProblem> problems;
  if (!fs::exists(fs::symlink_status(file))) {
    seal.text = ended ? "the run is not sealed" : "the run has not ended, and is sealed at its end";
    if (ended)
      problems.push_back(
          {std::string(kUnsealedRule), Severity::incomplete,
           fmt::format("there is no {}: nothing can show whether the evidence was changed after it "
                       "was measured",
                       layout::kSeal),
           store::ended_unsealed(journal)
               ? "it could not be written when the run ended: make room on its disk, and 'assay "
                 "run --resume' checks everything and writes it"
               : "runs of earlier versions have none, and their numbers are what they were; run "
                 "the suite again for evidence that can be checked"});
  } else {
    SealCheck check;
    std::set<std::string> unreadable;
    const auto measure = [&](const std::string& name) -> std::optional<FileRecord> {
      try {
        return evidence::measure_file(run.path() / name, name);
      } catch (const Error&) {
        unreadable.insert(name);
        return std::nullopt;
      }
    };
    try {
      check = evidence::verify_seal(read_regular_file(file), run.plan().run_id, measure);
    } catch (const std::exception& error) {
      check.problem = plain_error(error);
    }
    if (check.seal && check.signature == SignatureState::valid) {
      seal.public_key = check.seal->public_key;
      seal.fingerprint = evidence::fingerprint(seal.public_key);
      seal.signed_at = check.seal->signed_at;
    }
    problems = problems_of(check, run, unreadable, store::unsigned_reason(journal));
    seal.state = problems.empty() ? Soundness::ok : Soundness::flawed;
    seal.text = problems.empty() ? "sealed, and unchanged since then" : problems.front().reason;
  }
  for (SealProblem& problem : problems)
    findings.push_back({std::move(problem.rule),
                        problem.severity,
                        std::move(problem.reason),
                        std::move(problem.advice),
                        "",
                        {},
                        Aspect::integrity});
  return seal;
}

}  // namespace assay::judge
