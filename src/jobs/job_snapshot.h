#pragma once

#include "jobs/job_store.h"
#include "jobs/scheduler.h"

namespace assay::jobs {

/// The jobs of a snapshot as the store has them: those that wait for nodes, with the states of the
/// jobs that they wait for, those that hold nodes, and what everybody has used. `default_time` is
/// of jobs that ask for none.
void add_jobs(Snapshot& snapshot, JobStore& store, Nanoseconds default_time, Nanoseconds half_life,
              WallTime now_ns);

}  // namespace assay::jobs
