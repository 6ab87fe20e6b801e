#pragma once

#include <filesystem>
#include <vector>

#include "plan/plan.h"
#include "store/run_dir.h"
#include "tester/manifest.h"

namespace assay::push {

/// The files that the judge reads, with their hashes, in a fixed order: plan, journal, system, and
/// for every round logs, configurations, telemetry, an experiment's journal and a job's results.
/// Nothing else of a run is ever sent: no monitor logs, weights, derived files, notes of the
/// controller or of a cloud job, and no link's target. Throws Error of kind environment.
[[nodiscard]] std::vector<tester::ManifestFile> evidence_of(const store::RunDir& run);

/// Throws Error of kind config if the plan contains a likely secret: a variable such as HF_TOKEN or
/// AWS_SECRET_ACCESS_KEY to which the suite gives a value.
void check_for_secrets(const plan::Plan& plan);

}  // namespace assay::push
