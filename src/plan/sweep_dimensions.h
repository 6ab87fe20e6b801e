#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"

namespace assay::plan {

inline constexpr const char* kSweepForm =
    "for example sweep: {config.batch_size: [32, 64, 128], procs: [1, 2]}";

/// One axis of a case's grid, as it is written.
struct WrittenDimension {
  std::string key;                ///< "config.batch_size", "env.OMP_NUM_THREADS", "procs"
  std::vector<std::string> path;  ///< the same, for Node::with()
  std::vector<config::Node> values;
  config::Node place;  ///< the list
};

/// The axes of a case's grid, in the order of the file: what `sweep` lists, and plain lists where a
/// list cannot be a value: of `nodes`, `procs`, a variable, and of a config key whose default in
/// the workload is no list. Without a workload (nullptr), plain lists in `config` are values. A
/// --set of a key that `sweep` lists replaces its list. Empty: the case is no sweep.
[[nodiscard]] std::vector<WrittenDimension> sweep_dimensions(const config::Node& case_node,
                                                             const catalog::Workload* workload);

/// Whether a key of `sweep` is no axis but says which points are left out.
[[nodiscard]] bool is_constraint(const std::string& key);

/// The key of an axis for Node::with(). "config.a.b" is the key "a.b" of config: names of config
/// keys and variables may contain dots.
[[nodiscard]] std::vector<std::string> path_of(const std::string& key);

/// What stands there in a case; nullptr: nothing.
[[nodiscard]] const config::Node* node_of_path(const config::Node& node,
                                               const std::vector<std::string>& path);

}  // namespace assay::plan
