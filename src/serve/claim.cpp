#include "serve/claim.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/sha256.h"
#include "core/text.h"

namespace assay::serve {

namespace {

constexpr std::size_t kMostDifferences = 200;

const Json& member(const Json& object, const char* key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

Json values_of(const Json& metrics, const char* field) {
  Json out = Json::object();
  if (!metrics.is_object()) return out;
  for (const auto& [name, metric] : metrics.items()) out[name] = member(metric, field);
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

// What is quoted back to its sender is bounded.
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
      compare(where, name, value, member(recomputed, name.c_str()));
  }

  // Both are lists; matched by the field `key`, each once.
  template <class Each>
  void compare_lists(const std::string& where, const char* key, const Json& claimed,
                     const Json& recomputed, const Each& each) {
    std::map<std::string, const Json*> left;
    if (claimed.is_array())
      for (const Json& one : claimed) {
        const Json& name = member(one, key);
        if (!left.emplace(dump_line(name), &one).second) add(where, key, name, nullptr);
      }
    for (const Json& one : recomputed) {
      const auto at = left.find(dump_line(member(one, key)));
      if (at == left.end()) {
        add(where, key, nullptr, member(one, key));
        continue;
      }
      each(*at->second, one);
      left.erase(at);
    }
    for (const auto& [name, one] : left) add(where, key, member(*one, key), nullptr);
  }

  std::vector<Difference> found;

 private:
  void add(const std::string& where, const std::string& what, const Json& claimed,
           const Json& recomputed) {
    if (found.size() < kMostDifferences)
      found.push_back({where, ellipsize(printable(what), 100), shown(claimed), shown(recomputed)});
  }
};

}  // namespace

Json claim_of(const std::string& result_text, const std::string& where) {
  const Json result = parse_json(result_text, where);
  const Json& cases = member(result, "cases");
  if (!cases.is_array() || !member(result, "validity").is_string())
    throw Error(ErrorKind::config, "this is no result of a run", where,
                "'assay report RUN' writes it again");
  Json claim = {{"run_id", member(result, "run_id")},
                {"suite", member(result, "suite")},
                {"verdict", member(result, "validity")},
                {"assay", member(member(result, "provenance"), "assay_version")},
                {"result_sha256", sha256(result_text)},
                {"cases", Json::array()}};
  for (const Json& one : cases) {
    Json rounds = Json::array();
    if (const Json& list = member(one, "rounds"); list.is_array())
      for (const Json& round : list)
        rounds.push_back({{"round", member(round, "round")},
                          {"status", member(round, "status")},
                          {"verdict", member(round, "validity")},
                          {"metrics", values_of(member(round, "metrics"), "value")}});
    claim["cases"].push_back({{"case", member(one, "name")},
                              {"verdict", member(one, "validity")},
                              {"summary", values_of(member(one, "summary"), "median")},
                              {"rounds", std::move(rounds)}});
  }
  return claim;
}

std::vector<Difference> differences(const Json& claim, const Json& recomputed) {
  Comparison comparison;
  comparison.compare("", "verdict", member(claim, "verdict"), member(recomputed, "verdict"));
  comparison.compare_lists(
      "", "case", member(claim, "cases"), member(recomputed, "cases"),
      [&](const Json& claimed, const Json& one) {
        const std::string name = printable(member(one, "case").get<std::string>());
        comparison.compare(name, "verdict", member(claimed, "verdict"), member(one, "verdict"));
        comparison.compare_metrics(name, member(claimed, "summary"), member(one, "summary"));
        comparison.compare_lists(
            name, "round", member(claimed, "rounds"), member(one, "rounds"),
            [&](const Json& claimed_round, const Json& round) {
              const std::string place =
                  fmt::format("{}, round {}", name, member(round, "round").get<std::int64_t>());
              comparison.compare(place, "status", member(claimed_round, "status"),
                                 member(round, "status"));
              comparison.compare(place, "verdict", member(claimed_round, "verdict"),
                                 member(round, "verdict"));
              comparison.compare_metrics(place, member(claimed_round, "metrics"),
                                         member(round, "metrics"));
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

}  // namespace assay::serve
