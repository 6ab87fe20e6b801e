#include "workload/workload.h"

#include <algorithm>
#include <cstdio>

#include "core/text.h"
#include "workload/runtime.h"

namespace assay::workload {

const Workload& find_workload(const std::vector<Workload>& workloads, const std::string& name) {
  const auto found = std::ranges::find(workloads, name, &Workload::name);
  if (found != workloads.end()) return *found;
  std::vector<std::string> known;
  for (const Workload& workload : workloads) known.push_back(workload.name);
  throw Error(ErrorKind::usage,
              "unknown workload '" + printable(name) + "'" + did_you_mean(name, known), {},
              "known workloads: " + join(known, ", "));
}

std::vector<Option> options_of(const Workload& workload) {
  Options options("");
  options.set_defaults(workload.defaults);
  workload.read(options);
  return options.declared();
}

int run(const Workload& workload, const std::string& config_path,
        const std::vector<std::pair<std::string, std::string>>& settings) {
  const Place place = place_from_environment();
  Options options(config_path);
  options.set_defaults(workload.defaults);
  for (const auto& [key, value] : settings) options.set(key, value);
  handle_stop_signals();
  perflog::Writer log(stdout, place.rank);
  return workload.run(options, place, log);
}

}  // namespace assay::workload
