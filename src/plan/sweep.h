#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"
#include "plan/suite.h"

namespace assay::plan {

/// Points that a sweep may have after its constraints, and its whole grid before them.
inline constexpr std::size_t kMaxSweepPoints = 1000;
inline constexpr std::size_t kMaxGridPoints = 100'000;

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

/// The case at the first value of all axes that can be seen without a workload.
[[nodiscard]] config::Node first_point(const config::Node& case_node);

/// The suite with every case that is a grid replaced by its points, in the order of the grid (the
/// last axis changes fastest). A point is named after its sweep and its place on the axes,
/// "train@batch_size=32,procs=2"; a sweep is named by `name`, else after its model.
/// Throws Error of kind config at the place that is wrong.
[[nodiscard]] Suite expand_sweeps(const Suite& suite, const catalog::Catalog& catalog);

/// What the sweep of the case is called; empty: it is none.
[[nodiscard]] std::string sweep_name(const SuiteCase& wanted, const catalog::Workload* workload);

/// A value of an axis as part of a case's name: "0.1", "bf16"; one that is long or holds characters
/// that a name cannot have is cut and gets a few digits of its hash.
[[nodiscard]] std::string point_value_text(const config::Node& value);

}  // namespace assay::plan
