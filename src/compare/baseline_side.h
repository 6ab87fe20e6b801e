#pragma once

#include "baseline/baseline.h"
#include "judge/result.h"

namespace assay::compare {

/// A baseline as a run to compare with `other`: of every case the entry for the hardware of that
/// run, with a round for each value that is behind it (one, the median, where the file has none). A
/// case without an entry for that hardware is INCOMPLETE, with a finding that says so. Nothing is
/// known of machines and configurations but the work.
[[nodiscard]] judge::RunResult run_of(const baseline::Baseline& baseline,
                                      const judge::RunResult& other);

/// The entry that the case of run_of() stands for; nullptr: none.
[[nodiscard]] const baseline::CaseEntry* entry_of(const baseline::Baseline& baseline,
                                                  const std::string& case_name,
                                                  const judge::RunResult& other);

}  // namespace assay::compare
