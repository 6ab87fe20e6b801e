#include "tester/evidence_state.h"

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/text.h"

namespace assay::tester {

namespace {

constexpr std::size_t kMaxFaults = 50;
constexpr std::size_t kMaxRounds = 1000;  // shown; result.json has all

template <class Each>
void each_round(const Json& result, const Each& each) {
  for (const Json& case_result : list_at(result, "cases"))
    for (const Json& round : list_at(case_result, "rounds"))
      each(text_at(case_result, "name"), integer_at(round, "round").value_or(0),
           member_at(round, "evidence"));
}

}  // namespace

std::vector<std::string> integrity_faults(const Json& result) {
  std::vector<std::string> faults;
  const auto add = [&](std::string_view fault) {
    if (faults.size() < kMaxFaults) faults.push_back(ellipsize(printable(fault), 500));
  };
  for (const Json& finding : list_at(result, "findings"))
    if (text_at(finding, "aspect") == "integrity" && text_at(finding, "severity") == "invalid")
      add(text_at(finding, "reason"));
  if (const Json& seal = member_at(result, "seal");
      faults.empty() && text_at(seal, "state") == "flawed")
    add(text_at(seal, "text"));
  each_round(result, [&](const std::string& name, std::int64_t number, const Json& evidence) {
    const Json& integrity = member_at(evidence, "integrity");
    if (text_at(integrity, "state") == "flawed")
      add(fmt::format("{}, round {}: {}", name, number, text_at(integrity, "text")));
  });
  return faults;
}

Json evidence_summary(const Json& result, const NameOfKey& name_of) {
  const Json& seal = member_at(result, "seal");
  Json out{{"seal", {{"state", text_at(seal, "state")}, {"text", text_at(seal, "text")}}},
           {"rounds", Json::array()}};
  for (const char* key : {"fingerprint", "signed_at"})
    if (const std::string text = text_at(seal, key); !text.empty()) out["seal"][key] = text;
  if (const std::string key = text_at(seal, "public_key"); !key.empty())
    if (const std::string name = name_of(key); !name.empty()) out["seal"]["signer"] = name;
  if (out["seal"].contains("fingerprint")) out["seal"]["trusted"] = out["seal"].contains("signer");
  each_round(result, [&](const std::string& name, std::int64_t number, const Json& evidence) {
    if (out["rounds"].size() >= kMaxRounds) return;
    Json round{{"case", name}, {"round", number}};
    for (const char* aspect : {"completeness", "integrity", "plausibility"})
      round[aspect] = member_at(evidence, aspect);
    out["rounds"].push_back(std::move(round));
  });
  return out;
}

}  // namespace assay::tester
