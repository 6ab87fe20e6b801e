#pragma once

#include <string>
#include <vector>

#include "http/url.h"
#include "serve/http_server.h"
#include "serve/refusal.h"
#include "tester/records.h"

namespace assay::tester {

// Plain HTML in the style of the reports: one file, no scripts, nothing loaded, all text escaped.

/// `list` is the answer of GET /api/v1/tests; links to other pages keep `query`.
[[nodiscard]] serve::HttpResponse list_page(const Json& list, const http::Query& query);
/// `challenges` are those to repeat this test.
[[nodiscard]] serve::HttpResponse test_page(const TestRecord& test,
                                            const std::vector<ChallengeRecord>& challenges = {});
[[nodiscard]] serve::HttpResponse page_of(const serve::Refusal& refusal);

}  // namespace assay::tester
