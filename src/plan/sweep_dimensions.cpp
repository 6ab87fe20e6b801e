#include "plan/sweep_dimensions.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"
#include "plan/suite.h"

namespace assay::plan {

using catalog::Workload;
using config::Entry;
using config::Node;

namespace {

constexpr std::array<const char*, 2> kConstraintKeys{"where", "exclude"};
// Keys that name a case, or say how it runs and is judged rather than what runs.
constexpr std::array<const char*, 14> kFixedKeys{
    "case",          "name",     "sweep",  "repeats", "needs", "rules",   "metrics",
    "warmup_rounds", "declared", "target", "shell",   "after", "only_if", "hooks"};

void check_values(const std::string& key, const Node& list) {
  if (list.items().empty())
    list.fail("the list of values for '" + printable(key) + "' is empty", kSweepForm);
  const bool words = key.starts_with("env.");
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const Node& value = list.items()[i];
    if (value.is_null())
      value.fail("the list of values for '" + printable(key) + "' has an empty value");
    for (std::size_t k = 0; k < i; ++k) {
      const Node& before = list.items()[k];
      const bool same = words && value.is_scalar() && before.is_scalar()
                            ? value.text() == before.text()
                            : value.json() == before.json();
      if (same) value.fail(value.describe() + " is listed twice for '" + printable(key) + "'");
    }
  }
}

void check_key(const Entry& entry) {
  const std::vector<std::string> path = path_of(entry.key);
  const std::vector<std::string>& known = suite_keys().at("case");
  const auto fail = [&](const std::string& message, const std::string& advice) {
    throw Error(ErrorKind::config, message, entry.where(), advice);
  };
  if (std::ranges::find(known, path[0]) == known.end())
    fail("not a case setting: '" + printable(ellipsize(entry.key, 60)) + "'" +
             did_you_mean(path[0], known),
         "write config.KEY for a key of 'config', env.NAME for a variable");
  if (std::ranges::find(kFixedKeys, path[0]) != kFixedKeys.end())
    fail("'" + path[0] + "' cannot be swept",
         std::string("what is run can be: config.KEY, env.NAME, procs, nodes, …; ") + kSweepForm);
  const bool needs_name = path[0] == "config" || path[0] == "env";
  if (path.size() < 2 && needs_name)
    fail("name the key of '" + path[0] + "' that is swept", kSweepForm);
  if (std::ranges::any_of(path, &std::string::empty))
    fail("not a key of a case: '" + printable(entry.key) + "'", kSweepForm);
}

class DimensionFinder {
 public:
  DimensionFinder(const Node& case_node, const Workload* workload)
      : case_(case_node), workload_(workload) {}

  std::vector<WrittenDimension> find() {
    if (!case_.is_mapping()) return {};
    for (const Entry& entry : case_.entries()) {
      if (entry.key == "sweep" && !entry.value.is_null()) add_listed(entry.value);
      if (entry.key == "nodes" || entry.key == "procs") add_plain(entry.key, entry.value);
      if (entry.key == "env" && entry.value.is_mapping())
        for (const Entry& one : entry.value.entries()) add_plain("env." + one.key, one.value);
      if (entry.key == "config" && entry.value.is_mapping())
        for (const Entry& one : entry.value.entries())
          if (is_scalar(one.key)) add_plain("config." + one.key, one.value);
    }
    return std::move(out_);
  }

 private:
  // Whether a list cannot be a value of the workload's config key.
  [[nodiscard]] bool is_scalar(const std::string& key) const {
    if (workload_ == nullptr || !workload_->config.is_mapping()) return false;
    const Node* standard = workload_->config.find(key);
    return standard != nullptr && standard->is_scalar();
  }

  void add_listed(const Node& sweep) {
    for (const Entry& entry : sweep.entries()) {
      if (is_constraint(entry.key)) continue;
      check_key(entry);
      // `key:` alone removes the axis, as everywhere.
      if (entry.value.is_null()) continue;
      const Node* beside = node_of_path(case_, path_of(entry.key));
      if (beside != nullptr && beside->is_override() && !entry.value.is_override()) continue;
      if (beside != nullptr && !entry.value.is_override())
        beside->fail("'" + printable(entry.key) + "' is in 'sweep' already, at " + entry.where(),
                     "give it in one place");
      check_values(entry.key, entry.value);
      out_.push_back({entry.key, path_of(entry.key), entry.value.items(), entry.value});
    }
  }

  void add_plain(const std::string& key, const Node& value) {
    if (!value.is_sequence()) return;
    const Node* sweep = case_.find("sweep");
    const Node* listed = sweep == nullptr || !sweep->is_mapping() ? nullptr : sweep->find(key);
    if (listed != nullptr && !listed->is_null() && listed->is_override()) return;
    check_values(key, value);
    out_.push_back({key, path_of(key), value.items(), value});
  }

  const Node& case_;
  const Workload* workload_;
  std::vector<WrittenDimension> out_;
};

}  // namespace

bool is_constraint(const std::string& key) {
  return std::ranges::find(kConstraintKeys, key) != kConstraintKeys.end();
}

std::vector<std::string> path_of(const std::string& key) {
  const auto dot = key.find('.');
  if (dot == std::string::npos) return {key};
  std::vector<std::string> path{key.substr(0, dot)};
  const std::string rest = key.substr(dot + 1);
  if (path[0] == "config" || path[0] == "env") {
    path.push_back(rest);
  } else {
    for (const std::string_view part : split(rest, '.')) path.emplace_back(part);
  }
  return path;
}

const Node* node_of_path(const Node& node, const std::vector<std::string>& path) {
  const Node* at = &node;
  for (const std::string& key : path) {
    if (at == nullptr || !at->is_mapping()) return nullptr;
    at = at->find(key);
  }
  return at == nullptr || at->is_null() ? nullptr : at;
}

std::vector<WrittenDimension> sweep_dimensions(const Node& case_node, const Workload* workload) {
  return DimensionFinder(case_node, workload).find();
}

}  // namespace assay::plan
