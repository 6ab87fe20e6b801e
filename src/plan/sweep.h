#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"
#include "plan/suite.h"
#include "plan/sweep_dimensions.h"

namespace assay::plan {

/// The most points of a sweep after its constraints, and of its whole grid before them.
inline constexpr std::size_t kMaxSweepPoints = 1000;
inline constexpr std::size_t kMaxGridPoints = 100'000;

/// The case at the first value of every axis that is visible without a workload.
[[nodiscard]] config::Node first_point(const config::Node& case_node);

/// The suite with every grid case replaced by its points in grid order (the last axis changes
/// fastest). A point is named after its sweep and its place on the axes,
/// "train@batch_size=32,procs=2"; a sweep is named by `name`, else after its model. Throws Error of
/// kind config at the wrong place.
[[nodiscard]] Suite expand_sweeps(const Suite& suite, const catalog::Catalog& catalog);

/// The name of the case's sweep; empty when it is not a sweep.
[[nodiscard]] std::string sweep_name(const SuiteCase& wanted, const catalog::Workload* workload);

/// An axis value as part of a case's name: "0.1", "bf16". A value that is long or contains
/// characters not allowed in names is cut and gets a few digits of its hash.
[[nodiscard]] std::string point_value_text(const config::Node& value);

}  // namespace assay::plan
