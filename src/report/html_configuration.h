#pragma once

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

// What a case was run with and judged by. Each is empty where nothing was recorded.

/// How the suite changed the rules: stands beside the verdict.
[[nodiscard]] page::Html rules_notice(const judge::CaseResult& result);
/// The effective configuration with the origin of each value; folded.
[[nodiscard]] page::Html configuration(const judge::CaseResult& result);
/// Command, program, code, data, image and environment of a round's nodes; folded.
[[nodiscard]] page::Html what_ran(const judge::RoundResult& round);
/// Every rule in force with its bound and origin; folded.
[[nodiscard]] page::Html rules_in_force(const judge::CaseResult& result);

}  // namespace assay::report::html
