#include "catalog/option_sets.h"

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

void load_options(const std::filesystem::path& path, const std::string& display, OptionSets& sets) {
  const Node root = config::load_yaml(path, display);
  for (const Entry& task : root.entries()) {
    const config::Mapping map(task.value, "the task '" + task.key + "'", {"options", "workloads"});
    const Node& options = map.at("options");
    std::vector<std::string> known;
    for (const Entry& option : options.entries()) known.push_back(option.key);
    for (const Entry& workload : map.at("workloads").entries()) {
      for (const Entry& differing : workload.value.entries())
        config::require_known(differing.value, "option", differing.key, known);
      if (!sets.emplace(workload.key, overlaid(options, workload.value)).second)
        workload.value.fail("the options of '" + workload.key + "' are given twice");
    }
  }
}

}  // namespace assay::catalog
