#pragma once

#include <exception>
#include <string>

#include "serve/refusal.h"

namespace assay::tester {

/// What a sender is told of an error of the tester's own: 507 when its disk is full, 503 when its
/// records are locked or cannot be written, which pass; else 500 with `what`.
[[nodiscard]] serve::Refusal failure_of(const std::exception& error, const std::string& what);

}  // namespace assay::tester
