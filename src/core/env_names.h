#pragma once

#include <string_view>

namespace assay {

/// The environment variable that identifies a round's processes, even after they leave their
/// session or enter a container.
inline constexpr std::string_view kRoundVariable = "ASSAY_ROUND_ID";

}  // namespace assay
