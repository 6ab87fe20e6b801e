#pragma once

#include <exception>
#include <string>

#include "serve/refusal.h"

namespace assay::tester {

/// The refusal that a sender gets for the tester's own error: 507 if its disk is full, 503 for
/// temporary problems (its records are locked or cannot be written), else 500 with `what`.
[[nodiscard]] serve::Refusal failure_of(const std::exception& error, const std::string& what);

}  // namespace assay::tester
