#pragma once

#include "compare/comparison.h"
#include "core/json.h"
#include "serve/http_server.h"
#include "tester/records.h"

namespace assay::tester {

/// Two accepted tests, side by side.
[[nodiscard]] Json comparison_json(const TestRecord& base, const TestRecord& candidate,
                                   const compare::Comparison& comparison);
[[nodiscard]] serve::HttpResponse comparison_page(const TestRecord& base,
                                                  const TestRecord& candidate,
                                                  const compare::Comparison& comparison);

}  // namespace assay::tester
