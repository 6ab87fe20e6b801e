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
    const config::Mapping map(task.value, "the task '" + task.key + "'",
                              {"options", "auto", "workloads"});
    const Node& options = map.at("options");
    std::vector<std::string> known;
    for (const Entry& option : options.entries()) known.push_back(option.key);
    const std::vector<std::string> automatic = map.texts_or_empty("auto");
    for (const std::string& key : automatic)
      config::require_known(map.at("auto"), "option", key, known);
    for (const Entry& workload : map.at("workloads").entries()) {
      for (const Entry& differing : workload.value.entries())
        config::require_known(differing.value, "option", differing.key, known);
      if (!sets.emplace(workload.key, OptionSet{overlaid(options, workload.value), automatic})
               .second)
        workload.value.fail("the options of '" + workload.key + "' are given twice");
    }
  }
}

}  // namespace assay::catalog
