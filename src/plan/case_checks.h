#pragma once

#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

// Whether a case can be run on the cluster at all, as far as that is known before it is. All throw
// Error of kind config at the case.

/// Enough hosts with enough slots.
void check_placement(const SuiteCase& wanted, const Cluster& cluster);

/// No placeholder for a file that only other flavors of rendezvous write.
void check_files(const SuiteCase& wanted, const CasePlan& plan);

/// What HCCL needs to know of every host. Which hosts a scheduler gives is known only later.
void check_rank_table(const SuiteCase& wanted, const CasePlan& plan, const Cluster& cluster);

/// Ranks can be bound only by who starts them, and to a list each.
void check_binding(const SuiteCase& wanted, const CasePlan& plan, const Cluster& cluster);

}  // namespace assay::plan
