#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "perflog/writer.h"
#include "workload/options.h"
#include "workload/place.h"

namespace assay::workload {

/// One workload of a program.
struct Workload {
  std::string name;
  /// The task whose options it has: workloads of one task differ only in their defaults.
  std::string task;
  /// A YAML mapping: what differs from the defaults of the task's options.
  std::string defaults;
  /// Reads all options and does nothing else. Throws Error of kind config.
  std::function<void(Options&)> read;
  /// Runs one rank to its end, its PerfLog on the writer; gives the exit code of the process.
  std::function<int(Options&, const Place&, perflog::Writer&)> run;
};

/// A workload that is a task of its own: Settings(Options&) reads its options.
template <class Settings>
[[nodiscard]] Workload single_workload(const std::string& name,
                                       int (*run)(const Settings&, const Place&,
                                                  perflog::Writer&)) {
  return {name, name, "", [](Options& options) { Settings{options}; },
          [run](Options& options, const Place& place, perflog::Writer& log) {
            return run(Settings(options), place, log);
          }};
}

/// Throws Error of kind usage that names the nearest.
[[nodiscard]] const Workload& find_workload(const std::vector<Workload>& workloads,
                                            const std::string& name);

/// The workload's options with their defaults.
[[nodiscard]] std::vector<Option> options_of(const Workload& workload);

/// Runs this process's rank of a workload with the configuration in `config_path` ("": none);
/// `settings` count as if they were in the file.
[[nodiscard]] int run(const Workload& workload, const std::string& config_path,
                      const std::vector<std::pair<std::string, std::string>>& settings = {});

}  // namespace assay::workload
