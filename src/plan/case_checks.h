#pragma once

#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

// Checks, as far as possible in advance, that a case can run on the cluster at all. All throw Error
// of kind config at the case.

/// There are enough hosts with enough slots.
void check_placement(const SuiteCase& wanted, const Cluster& cluster);

/// No placeholder refers to a file that only other rendezvous flavors write.
void check_files(const SuiteCase& wanted, const CasePlan& plan);

/// Every host has what HCCL needs to know. A scheduler's hosts are known only later.
void check_rank_table(const SuiteCase& wanted, const CasePlan& plan, const Cluster& cluster);

/// Ranks can be bound only by the program that starts them, and each only to a list of its own.
void check_binding(const SuiteCase& wanted, const CasePlan& plan, const Cluster& cluster);

}  // namespace assay::plan
