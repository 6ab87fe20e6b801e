#pragma once

#include <string>
#include <string_view>

#include "lang/language.h"

namespace assay::page {

/// A plan as plan::render_text() and launch::render_execution() write it, in `language`: what
/// labels and explains is translated, and its columns stay under each other. Names, commands,
/// files, variables and settings stay as they are, and so does every line of another kind.
[[nodiscard]] std::string plan_in(lang::Language language, std::string_view plan);

}  // namespace assay::page
