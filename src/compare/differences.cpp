#include "compare/differences.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "core/json.h"
#include "core/text.h"

namespace assay::compare {

namespace {

// Meaningless for a comparison, or different in every run.
constexpr std::array<std::string_view, 13> kVolatile{"available_bytes",
                                                     "boot_id",
                                                     "created",
                                                     "device_state_after",
                                                     "dirty",
                                                     "load",
                                                     "node",
                                                     "journal_lines_skipped",
                                                     "processes",
                                                     "run_id",
                                                     "swap_free_bytes",
                                                     "temp_c",
                                                     "uptime_s"};

// Interfaces and disks are identified by name: an additional one must not make all later ones in
// the list differ. Each is one leaf: "mtu 1500, state up".
bool is_list_of_names(const std::string& path, const Json& value) {
  if (!value.is_array() || !(path.ends_with(".networks") || path.ends_with(".disks"))) return false;
  return std::ranges::all_of(value, [](const Json& part) {
    return part.is_object() && part.contains("name") && part["name"].is_string();
  });
}

std::string in_one_leaf(const Json& part) {
  std::vector<std::string> out;
  for (const auto& [key, value] : part.items())
    if (key != "name")
      out.push_back(key + " " + (value.is_string() ? value.get<std::string>() : dump_line(value)));
  return join(out, ", ");
}

void flatten(const Json& value, const std::string& path, Leaves& out) {
  if (value.is_object()) {
    for (const auto& [key, part] : value.items())
      if (std::ranges::find(kVolatile, key) == kVolatile.end())
        flatten(part, path.empty() ? key : path + "." + key, out);
  } else if (is_list_of_names(path, value)) {
    for (const Json& part : value)
      out[path + " " + part["name"].get<std::string>()] = in_one_leaf(part);
  } else if (value.is_array() &&
             std::ranges::any_of(value, [](const Json& part) { return part.is_structured(); })) {
    for (std::size_t i = 0; i < value.size(); ++i)
      flatten(value[i], path + " " + std::to_string(i), out);
  } else {
    out[path] = value.is_string() ? value.get<std::string>() : dump_line(value);
  }
}

std::vector<Difference> between(const Leaves& base, const Leaves& candidate) {
  std::vector<Difference> out;
  for (const auto& [key, value] : base) {
    const auto other = candidate.find(key);
    const std::string now = other == candidate.end() ? "" : other->second;
    if (now != value) out.push_back({key, value, now});
  }
  for (const auto& [key, value] : candidate)
    if (!base.contains(key)) out.push_back({key, "", value});
  return out;
}

Leaves leaves_of(const judge::RunResult& run) {
  Leaves out{{"suite", run.suite}};
  flatten(run.system, "", out);
  Json provenance = run.provenance;
  provenance.erase("assay_version");  // system.json has its parts
  flatten(provenance, "", out);
  return out;
}

Leaves leaves_of(std::span<const judge::RunResult> runs) {
  std::map<std::string, std::vector<std::string>> values;
  for (const judge::RunResult& run : runs)
    for (const auto& [key, value] : leaves_of(run)) {
      std::vector<std::string>& known = values[key];
      if (std::ranges::find(known, value) == known.end()) known.push_back(value);
    }
  Leaves out;
  for (const auto& [key, all] : values) out[key] = join(all, " or ");
  return out;
}

std::string bounds_of(const catalog::Rule& rule) {
  std::string out(to_text(rule.severity));
  if (rule.min) out += ", at least " + dump_line(Json(*rule.min));
  if (rule.max) out += ", at most " + dump_line(Json(*rule.max));
  return out;
}

Leaves leaves_of(const judge::CaseResult& result) {
  Leaves out;
  for (const plan::Setting& setting : result.configuration)
    // The number of rounds does not affect what was measured.
    if (setting.key != "repeats" && setting.key != "warmup_rounds")
      flatten(setting.value, setting.key, out);
  for (const catalog::Rule& rule : result.rules) out["rule " + rule.id] = bounds_of(rule);
  return out;
}

}  // namespace

std::vector<Difference> run_differences(std::span<const judge::RunResult> base,
                                        std::span<const judge::RunResult> candidate) {
  return between(leaves_of(base), leaves_of(candidate));
}

std::vector<Difference> case_differences(const judge::CaseResult& base,
                                         const judge::CaseResult& candidate) {
  return between(leaves_of(base), leaves_of(candidate));
}

Leaves run_leaves(const judge::RunResult& run) {
  return leaves_of(run);
}

Leaves case_leaves(const judge::CaseResult& result) {
  return leaves_of(result);
}

std::vector<Difference> leaf_differences(const Leaves& base, const Leaves& candidate) {
  return between(base, candidate);
}

}  // namespace assay::compare
