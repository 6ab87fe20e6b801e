#include "tester/evidence_state.h"

#include <fmt/format.h>

#include "core/text.h"
#include "report/json_report.h"

namespace assay::tester {

namespace {

constexpr std::size_t kMaxFaults = 50;
constexpr std::size_t kMaxRounds = 1000;  // those shown; result.json has all

}  // namespace

std::vector<std::string> integrity_faults(const judge::RunResult& result) {
  std::vector<std::string> faults;
  const auto add = [&](std::string_view fault) {
    if (faults.size() < kMaxFaults) faults.push_back(ellipsize(printable(fault), 500));
  };
  for (const judge::Finding& finding : result.findings)
    if (finding.aspect == judge::Aspect::integrity && finding.severity == judge::Severity::invalid)
      add(finding.reason);
  if (faults.empty() && result.seal.state == judge::Soundness::flawed) add(result.seal.text);
  for (const judge::CaseResult& one : result.cases)
    for (const judge::RoundResult& round : one.rounds)
      if (const judge::AspectState& integrity = round.evidence.integrity;
          integrity.state == judge::Soundness::flawed)
        add(fmt::format("{}, round {}: {}", one.name, round.round, integrity.text));
  return faults;
}

Json evidence_summary(const judge::RunResult& result, const NameOfKey& name_of) {
  const judge::RunSeal& seal = result.seal;
  Json out{{"seal", {{"state", to_text(seal.state)}, {"text", seal.text}}},
           {"rounds", Json::array()}};
  if (!seal.fingerprint.empty()) out["seal"]["fingerprint"] = seal.fingerprint;
  if (!seal.signed_at.empty()) out["seal"]["signed_at"] = seal.signed_at;
  const std::string signer = seal.public_key.empty() ? "" : name_of(seal.public_key);
  if (!signer.empty()) out["seal"]["signer"] = signer;
  if (!seal.fingerprint.empty()) out["seal"]["trusted"] = !signer.empty();
  for (const judge::CaseResult& one : result.cases)
    for (const judge::RoundResult& round : one.rounds) {
      if (out["rounds"].size() >= kMaxRounds) return out;
      Json shown{{"case", one.name}, {"round", round.round}};
      shown.update(report::evidence_to_json(round.evidence));
      out["rounds"].push_back(std::move(shown));
    }
  return out;
}

}  // namespace assay::tester
