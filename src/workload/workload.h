#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "perflog/writer.h"
#include "workload/options.h"
#include "workload/place.h"

namespace assay::workload {

/// A workload of a program.
struct Workload {
  std::string name;
  /// The task that defines its options: workloads of a task differ only in their defaults.
  std::string task;
  /// A YAML mapping that overrides the defaults of the task's options.
  std::string defaults;
  /// Only reads all options. Throws Error of kind config.
  std::function<void(Options&)> read;
  /// Runs one rank to its end, with its PerfLog on the writer; returns the process's exit code.
  std::function<int(Options&, const Place&, perflog::Writer&)> run;
};

/// A workload that is its own task: Settings(Options&) reads its options.
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
/// `settings` count as part of the file.
[[nodiscard]] int run(const Workload& workload, const std::string& config_path,
                      const std::vector<std::pair<std::string, std::string>>& settings = {});

}  // namespace assay::workload
