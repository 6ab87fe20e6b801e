#pragma once

#include <vector>

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// The hooks around a case, or around all of them, with their verdicts. Empty without hooks.
[[nodiscard]] page::Html hooks(const std::vector<judge::HookResult>& list);

}  // namespace assay::report::html
