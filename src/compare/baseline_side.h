#pragma once

#include "baseline/baseline.h"
#include "judge/result.h"

namespace assay::compare {

/// A baseline as a run to compare with `other`: for every case the entry for the hardware of that
/// run, with a round for each of its values (or one, the median, if the file has none). A case
/// without an entry for that hardware is INCOMPLETE, with a finding that says so. Only the work is
/// known of machines and configurations.
[[nodiscard]] judge::RunResult run_of(const baseline::Baseline& baseline,
                                      const judge::RunResult& other);

/// The entry behind the case of run_of(); nullptr: none.
[[nodiscard]] const baseline::CaseEntry* entry_of(const baseline::Baseline& baseline,
                                                  const std::string& case_name,
                                                  const judge::RunResult& other);

}  // namespace assay::compare
