#pragma once

#include "baseline/baseline.h"
#include "judge/result.h"

namespace assay::compare {

/// A baseline as a run to compare with `other`: each case has the entry for that run's hardware,
/// with one round per underlying value (or one with the median, if the file has no values). A case
/// without an entry for that hardware is INCOMPLETE, with a finding that says so. Machines and
/// configurations are unknown, except for the work.
[[nodiscard]] judge::RunResult run_of(const baseline::Baseline& baseline,
                                      const judge::RunResult& other);

/// The entry behind a case of run_of(); nullptr if there is none.
[[nodiscard]] const baseline::CaseEntry* entry_of(const baseline::Baseline& baseline,
                                                  const std::string& case_name,
                                                  const judge::RunResult& other);

}  // namespace assay::compare
