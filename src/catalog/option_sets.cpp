#include "catalog/option_sets.h"

#include <algorithm>

#include "config/mapping.h"
#include "config/yaml.h"

namespace assay::catalog {

using config::Entry;
using config::Node;

Node overlaid(const Node& base, const Node& stronger) {
  Node both = base;
  for (const Entry& entry : stronger.entries())
    if (!entry.value.is_null()) both = both.with({entry.key}, entry.value);
  return both;
}

bool OptionSet::is_auto(const std::string& key, const Node& value) const {
  return std::ranges::find(automatic, key) != automatic.end() && value.is_scalar() &&
         value.text() == "auto";
}

void OptionSet::check(const std::string& key, const Node& value) const {
  if (is_auto(key, value)) return;
  const auto known = bounds.find(key);
  if (known != bounds.end()) known->second.check(value, key);
}

namespace {

// The default's type determines what the list means.
config::Bounds read_bounds(const Node& range, const Json& example) {
  config::Bounds bounds;
  if (example.is_string()) {
    bounds.choices = range.texts();
    if (bounds.choices.empty()) range.fail("no word is allowed");
    return bounds;
  }
  if (!example.is_number() && !example.is_array())
    range.fail("only numbers, lists of numbers and texts have a range");
  if (range.items().size() != 2) range.fail("expected [least, most]");
  bounds.min = range.items()[0].number();
  bounds.max = range.items()[1].number();
  if (bounds.min > bounds.max) range.fail("the least is above the most");
  bounds.whole = example.is_number_integer();
  bounds.is_list = example.is_array();
  return bounds;
}

}  // namespace

void load_options(const std::filesystem::path& path, const std::string& display, OptionSets& sets) {
  const Node root = config::load_yaml(path, display);
  for (const Entry& task : root.entries()) {
    const config::Mapping map(task.value, "the task '" + task.key + "'",
                              {"options", "ranges", "auto", "workloads"});
    const Node& options = map.at("options");
    std::vector<std::string> known;
    for (const Entry& option : options.entries()) known.push_back(option.key);
    const std::vector<std::string> automatic = map.texts_or_empty("auto");
    for (const std::string& key : automatic)
      config::require_known(map.at("auto"), "option", key, known);
    std::map<std::string, config::Bounds> bounds;
    if (const Node* ranges = map.find("ranges"))
      for (const Entry& range : ranges->entries()) {
        config::require_known(range.value, "option", range.key, known);
        bounds.emplace(range.key, read_bounds(range.value, options.find(range.key)->json()));
      }
    for (const Entry& workload : map.at("workloads").entries()) {
      for (const Entry& differing : workload.value.entries())
        config::require_known(differing.value, "option", differing.key, known);
      const OptionSet set{overlaid(options, workload.value), automatic, bounds};
      for (const Entry& option : set.defaults.entries()) set.check(option.key, option.value);
      if (!sets.emplace(workload.key, set).second)
        workload.value.fail("the options of '" + workload.key + "' are given twice");
    }
  }
}

}  // namespace assay::catalog
