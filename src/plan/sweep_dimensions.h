#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"

namespace assay::plan {

inline constexpr const char* kSweepForm =
    "for example sweep: {config.batch_size: [32, 64, 128], procs: [1, 2]}";

/// One axis of a case's grid as written.
struct WrittenDimension {
  std::string key;                ///< "config.batch_size", "env.OMP_NUM_THREADS", "procs"
  std::vector<std::string> path;  ///< the same, for Node::with()
  std::vector<config::Node> values;
  config::Node place;  ///< the list
};

/// The axes of a case's grid, in the order of the file: the entries of `sweep`, and plain lists
/// where a list cannot be a value: for `nodes`, `procs`, a variable, and a config key whose default
/// in the workload is not a list. Without a workload (nullptr), plain lists in `config` are values.
/// A --set of a key in `sweep` replaces its list. Empty when the case is not a sweep.
[[nodiscard]] std::vector<WrittenDimension> sweep_dimensions(const config::Node& case_node,
                                                             const catalog::Workload* workload);

/// Whether a key of `sweep` is not an axis but leaves points out.
[[nodiscard]] bool is_constraint(const std::string& key);

/// An axis's key as a path for Node::with(). "config.a.b" is the key "a.b" of config, because names
/// of config keys and variables may contain dots.
[[nodiscard]] std::vector<std::string> path_of(const std::string& key);

/// The node at that path in a case, or nullptr.
[[nodiscard]] const config::Node* node_of_path(const config::Node& node,
                                               const std::vector<std::string>& path);

}  // namespace assay::plan
