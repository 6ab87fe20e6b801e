#pragma once

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

// How a case ran and was judged. Each part is empty if nothing was recorded.

/// The suite's changes to the rules, shown beside the verdict.
[[nodiscard]] page::Html rules_notice(const judge::CaseResult& result);
/// The effective configuration with each value's origin; folded.
[[nodiscard]] page::Html configuration(const judge::CaseResult& result);
/// Command, program, code, data, image and environment of a round's nodes; folded.
[[nodiscard]] page::Html what_ran(const judge::RoundResult& round);
/// Every rule in force with its bound and origin; folded.
[[nodiscard]] page::Html rules_in_force(const judge::CaseResult& result);

}  // namespace assay::report::html
