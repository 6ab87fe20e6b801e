#include "tester/challenges.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "report/mllog.h"
#include "serve/random_text.h"
#include "serve/refusal.h"

namespace assay::tester {

namespace {

constexpr std::size_t kMaxDiffering = 20;

const judge::CaseResult* case_of(const judge::RunResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.cases, name, &judge::CaseResult::name);
  return found == result.cases.end() ? nullptr : &*found;
}

using Settings = std::map<std::string, Json>;

// Excludes the settings that a challenge changes, and those that affect no number.
Settings settings_of(const judge::CaseResult& case_result) {
  Settings out;
  for (const plan::Setting& setting : case_result.configuration) {
    if (setting.key == "config.seed" || setting.key == "repeats") continue;
    Json& value = out[setting.key] = setting.value;
    if (setting.key == "automl" && value.is_object()) value.erase("seed");
  }
  return out;
}

bool takes_seed(const judge::CaseResult& case_result) {
  return std::ranges::any_of(case_result.configuration, [](const plan::Setting& setting) {
    return setting.key == "config.seed" || setting.key == "automl";
  });
}

std::set<std::string> programs_of(const judge::CaseResult& case_result) {
  std::set<std::string> out;
  for (const judge::RoundResult& round : case_result.rounds)
    for (const Json& node : round.executed)
      if (const std::string hash = text_at(member_at(node, "program"), "sha256"); !hash.empty())
        out.insert(hash);
  return out;
}

const judge::Summary* summary_of(const judge::CaseResult& case_result, const std::string& metric) {
  for (const judge::Summary& summary : case_result.summary)
    if (summary.info.name == metric) return &summary;
  return nullptr;
}

std::int64_t below(std::int64_t count) {
  return static_cast<std::int64_t>(std::stoull(serve::random_hex(7), nullptr, 16) %
                                   static_cast<std::uint64_t>(count));
}

std::string value_text(const Json& value) {
  return value.is_null() ? "nothing" : ellipsize(printable(dump_line(value)), 120);
}

std::vector<std::string> differing(const judge::RunResult& before_result,
                                   const judge::RunResult& now_result,
                                   const judge::CaseResult& before, const judge::CaseResult& now) {
  std::vector<std::string> out;
  const Settings then = settings_of(before);
  const Settings here = settings_of(now);
  std::set<std::string> keys;
  for (const auto& [key, value] : then) keys.insert(key);
  for (const auto& [key, value] : here) keys.insert(key);
  for (const std::string& key : keys) {
    const auto a = then.find(key);
    const auto b = here.find(key);
    const Json was = a == then.end() ? Json() : a->second;
    const Json is = b == here.end() ? Json() : b->second;
    if (was != is && out.size() < kMaxDiffering)
      out.push_back(fmt::format("{}: {} instead of {}", printable(ellipsize(key, 80)),
                                value_text(is), value_text(was)));
  }
  if (programs_of(before) != programs_of(now)) out.emplace_back("the program is another one");
  if (before_result.seal.fingerprint != now_result.seal.fingerprint)
    out.emplace_back("it is signed by another key");
  return out;
}

}  // namespace

Challenge new_challenge(const std::string& test, const judge::RunResult& result,
                        const std::string& case_name, std::int64_t now_ns,
                        std::chrono::seconds valid) {
  std::vector<std::string> names;
  for (const judge::CaseResult& one : result.cases)
    if (takes_seed(one)) names.push_back(one.name);
  if (!case_name.empty() && case_of(result, case_name) == nullptr)
    throw serve::Refusal(404, "no_such_case", "the test has no such case");
  if (!case_name.empty() && std::ranges::find(names, case_name) == names.end()) names.clear();
  if (names.empty())
    throw serve::Refusal(
        409, "no_seed", "no such case takes a seed: it would measure the same again",
        "a case takes one whose configuration has 'seed', or that is an experiment");
  Challenge out;
  out.id = serve::random_hex(16);
  out.test = test;
  out.suite = result.suite;
  out.suite_sha256 = text_at(result.provenance, "suite_sha256");
  out.case_name =
      !case_name.empty()
          ? case_name
          : names[static_cast<std::size_t>(below(static_cast<std::int64_t>(names.size())))];
  out.seed = below(kMaxChallengeSeed + 1);
  out.issued = iso_utc(now_ns);
  out.expires = iso_utc(now_ns + Nanoseconds(valid).count());
  return out;
}

std::optional<std::string> answered_challenge(const judge::RunResult& result) {
  const Json& answer = member_at(result.provenance, "answer");
  if (!answer.is_object()) return std::nullopt;
  return text_at(member_at(answer, "challenge"), "id");
}

std::vector<std::string> challenge_faults(const Answering& answer,
                                          const std::optional<ChallengeRecord>& known,
                                          std::int64_t now_ns) {
  if (!known) return {"the challenge is not one of this tester's"};
  std::vector<std::string> out;
  const Challenge& challenge = known->challenge;
  const Json& given = member_at(answer.result.provenance, "answer");
  const Json& told = member_at(given, "challenge");
  const Json asked = fields_to_json(challenge);
  for (const auto& [key, value] : asked.items())
    if (member_at(told, key.c_str()) != value)
      out.push_back(fmt::format("the challenge was altered: {} is {}, not {}", key,
                                value_text(member_at(told, key.c_str())), value_text(value)));
  if (!known->answered_by.empty() && known->answered_by != answer.test)
    out.push_back("the challenge was answered before, by the test " + known->answered_by);
  if (answer.challenged_token != answer.token)
    out.emplace_back(answer.challenged_token.empty()
                         ? "the test that is measured again is not there any more"
                         : "the challenge is about a test of another token");
  constexpr std::int64_t kSlack_ms = std::chrono::milliseconds(kClockTolerance).count();
  const auto issued = report::parse_iso_ms(challenge.issued);
  const auto expires = report::parse_iso_ms(challenge.expires);
  if (!expires || now_ns / 1'000'000 > *expires)
    out.push_back("the challenge expired at " + challenge.expires);
  const std::string began = text_at(given, "began");
  const auto began_ms = report::parse_iso_ms(began);
  if (!began_ms)
    out.emplace_back("no round of the run began");
  else if (!issued || *began_ms < *issued - kSlack_ms)
    out.push_back(
        fmt::format("by its own clock the run began at {}, before the challenge was "
                    "issued at {}",
                    began, challenge.issued));
  else if (*began_ms > now_ns / 1'000'000 + kSlack_ms)
    out.push_back(fmt::format("by its own clock the run began at {}, which is yet to come", began));
  const std::string suite = text_at(answer.result.provenance, "suite_sha256");
  if (suite != challenge.suite_sha256)
    out.push_back("the suite is another one: SHA-256 " + ellipsize(printable(suite), 64));
  for (const Json& fault : list_at(given, "faults"))
    out.push_back(fault.is_string() ? ellipsize(printable(fault.get<std::string>()), 300)
                                    : "a fault that cannot be read");
  return out;
}

Json compare_answer(const Challenge& challenge, const judge::RunResult& before,
                    const judge::RunResult& now) {
  Json out{{"id", challenge.id},
           {"test", challenge.test},
           {"case", challenge.case_name},
           {"seed", challenge.seed},
           {"seed_use", text_at(member_at(now.provenance, "answer"), "seed")},
           {"differs", Json::array()}};
  const judge::CaseResult* then = case_of(before, challenge.case_name);
  const judge::CaseResult* here = case_of(now, challenge.case_name);
  if (then == nullptr || here == nullptr) return out;
  out["differs"] = differing(before, now, *then, *here);
  const judge::Summary* was = summary_of(*then, here->headline);
  const judge::Summary* is = summary_of(*here, here->headline);
  if (was == nullptr || is == nullptr) return out;
  out["metric"] = here->headline;
  out["unit"] = is->info.unit;
  out["before"] = was->median;
  out["now"] = is->median;
  if (was->median != 0) out["difference"] = (is->median - was->median) / was->median;
  out["overlap"] = nullptr;
  if (was->ci95_low && was->ci95_high && is->ci95_low && is->ci95_high)
    out["overlap"] = *was->ci95_low <= *is->ci95_high && *is->ci95_low <= *was->ci95_high;
  return out;
}

std::string comparison_text(const Json& comparison) {
  const std::string metric = text_at(comparison, "metric");
  if (metric.empty()) return "no headline number that both have";
  const auto now = number_at(comparison, "now");
  const auto before = number_at(comparison, "before");
  std::string text =
      fmt::format("{} {} {}, {} before", printable(metric), format_number(now.value_or(0)),
                  printable(text_at(comparison, "unit")), format_number(before.value_or(0)));
  if (const auto by = number_at(comparison, "difference"))
    text += fmt::format(" ({:+.1f} %)", *by * 100);
  return text;
}

}  // namespace assay::tester
