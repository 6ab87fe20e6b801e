#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"
#include "plan/suite.h"
#include "plan/sweep_dimensions.h"

namespace assay::plan {

/// Points that a sweep may have after its constraints, and its whole grid before them.
inline constexpr std::size_t kMaxSweepPoints = 1000;
inline constexpr std::size_t kMaxGridPoints = 100'000;

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
