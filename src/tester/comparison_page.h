#pragma once

#include "compare/comparison.h"
#include "compare/side.h"
#include "core/json.h"
#include "serve/http_server.h"
#include "tester/records.h"

namespace assay::tester {

/// Two accepted tests side by side: the tester's results, and what changed.
struct ComparedTests {
  TestRecord base{};
  TestRecord candidate{};
  compare::Side base_side{};
  compare::Side new_side{};
  compare::Comparisons changes{};
};

/// One new side of compare::to_json, with the tests' ids.
[[nodiscard]] Json comparison_json(const ComparedTests& tests);
/// The sections of 'assay compare --format html' under the tester's head.
[[nodiscard]] serve::HttpResponse comparison_page(const ComparedTests& tests);

}  // namespace assay::tester
