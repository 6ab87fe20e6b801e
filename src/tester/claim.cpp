#include "tester/claim.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_access.h"
#include "core/sha256.h"
#include "core/text.h"

namespace assay::tester {

namespace {

constexpr std::size_t kMaxDifferences = 200;

Json values_of(const Json& metrics, const char* field) {
  Json out = Json::object();
  if (!metrics.is_object()) return out;
  for (const auto& [name, metric] : metrics.items()) out[name] = member_at(metric, field);
  return out;
}

bool same(const Json& claimed, const Json& recomputed) {
  if (claimed.is_number() && recomputed.is_number()) {
    const auto a = claimed.get<double>();
    const auto b = recomputed.get<double>();
    return a == b || std::abs(a - b) <= kRelativeTolerance * std::max(std::abs(a), std::abs(b));
  }
  return claimed == recomputed;
}

// Limits the length of quotes in answers.
Json shown(const Json& value) {
  if (value.is_number() || value.is_null() || value.is_boolean()) return value;
  if (value.is_string()) return ellipsize(printable(value.get_ref<const std::string&>()), 100);
  return "(" + std::string(value.type_name()) + ")";
}

class Comparison {
 public:
  void compare(const std::string& where, const std::string& what, const Json& claimed,
               const Json& recomputed) {
    if (!same(claimed, recomputed)) add(where, what, claimed, recomputed);
  }

  void compare_metrics(const std::string& where, const Json& claimed, const Json& recomputed) {
    if (!claimed.is_object()) {
      add(where, "metrics", claimed, nullptr);
      return;
    }
    for (const auto& [name, value] : claimed.items())
      compare(where, name, value, member_at(recomputed, name.c_str()));
  }

  // Compares two lists with unique entries, matched by the field `key`.
  template <class Each>
  void compare_lists(const std::string& where, const char* key, const Json& claimed,
                     const Json& recomputed, const Each& each) {
    std::map<std::string, const Json*> left;
    if (claimed.is_array())
      for (const Json& entry : claimed) {
        const Json& name = member_at(entry, key);
        if (!left.emplace(dump_line(name), &entry).second) add(where, key, name, nullptr);
      }
    for (const Json& entry : recomputed) {
      const auto at = left.find(dump_line(member_at(entry, key)));
      if (at == left.end()) {
        add(where, key, nullptr, member_at(entry, key));
        continue;
      }
      each(*at->second, entry);
      left.erase(at);
    }
    for (const auto& [name, entry] : left) add(where, key, member_at(*entry, key), nullptr);
  }

  std::vector<Difference> found;

 private:
  void add(const std::string& where, const std::string& what, const Json& claimed,
           const Json& recomputed) {
    if (found.size() < kMaxDifferences)
      found.push_back({where, ellipsize(printable(what), 100), shown(claimed), shown(recomputed)});
  }
};

}  // namespace

Json claim_of(const std::string& result_text, const std::string& where) {
  const Json result = parse_json(result_text, where);
  const Json& cases = member_at(result, "cases");
  if (!cases.is_array() || !member_at(result, "validity").is_string())
    throw Error(ErrorKind::config, "this is not the result of a run", where,
                "'assay report RUN' writes it again");
  Json claim = {{"run_id", member_at(result, "run_id")},
                {"suite", member_at(result, "suite")},
                {"verdict", member_at(result, "validity")},
                {"assay", member_at(member_at(result, "provenance"), "assay_version")},
                {"result_sha256", sha256(result_text)},
                {"cases", Json::array()}};
  for (const Json& case_result : cases) {
    Json rounds = Json::array();
    if (const Json& list = member_at(case_result, "rounds"); list.is_array())
      for (const Json& round : list)
        rounds.push_back({{"round", member_at(round, "round")},
                          {"status", member_at(round, "status")},
                          {"verdict", member_at(round, "validity")},
                          {"metrics", values_of(member_at(round, "metrics"), "value")}});
    claim["cases"].push_back({{"case", member_at(case_result, "name")},
                              {"verdict", member_at(case_result, "validity")},
                              {"summary", values_of(member_at(case_result, "summary"), "median")},
                              {"rounds", std::move(rounds)}});
  }
  return claim;
}

std::vector<Difference> differences(const Json& claim, const Json& recomputed) {
  Comparison comparison;
  comparison.compare("", "verdict", member_at(claim, "verdict"), member_at(recomputed, "verdict"));
  comparison.compare_lists(
      "", "case", member_at(claim, "cases"), member_at(recomputed, "cases"),
      [&](const Json& claimed, const Json& computed) {
        const std::string name = printable(member_at(computed, "case").get<std::string>());
        comparison.compare(name, "verdict", member_at(claimed, "verdict"),
                           member_at(computed, "verdict"));
        comparison.compare_metrics(name, member_at(claimed, "summary"),
                                   member_at(computed, "summary"));
        comparison.compare_lists(
            name, "round", member_at(claimed, "rounds"), member_at(computed, "rounds"),
            [&](const Json& claimed_round, const Json& round) {
              const std::string place =
                  fmt::format("{}, round {}", name, member_at(round, "round").get<std::int64_t>());
              comparison.compare(place, "status", member_at(claimed_round, "status"),
                                 member_at(round, "status"));
              comparison.compare(place, "verdict", member_at(claimed_round, "verdict"),
                                 member_at(round, "verdict"));
              comparison.compare_metrics(place, member_at(claimed_round, "metrics"),
                                         member_at(round, "metrics"));
            });
      });
  return comparison.found;
}

Json to_json(const Difference& difference) {
  return {{"case", difference.where},
          {"metric", difference.metric},
          {"claimed", difference.claimed},
          {"recomputed", difference.recomputed}};
}

}  // namespace assay::tester
