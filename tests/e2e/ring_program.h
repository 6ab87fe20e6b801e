#pragma once

#include <string>

#include "e2e/harness.h"

namespace assay::e2e {

/// Compiles a program of MPI in `folder` whose ranks say "rank R of N on worker W: S", where S is
/// the sum of all R, and W the DLWS_ROLE_IDX of their node. Empty: there is no OpenMPI here.
[[nodiscard]] std::string make_ring_program(const fs::path& folder);

}  // namespace assay::e2e
