#pragma once

#include <string_view>

namespace assay {

/// The variable by which a round's processes are known however far they wander, also in a
/// container.
inline constexpr std::string_view kRoundVariable = "ASSAY_ROUND_ID";

}  // namespace assay
