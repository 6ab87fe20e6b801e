#pragma once

#include <array>
#include <cstdint>

#include "core/enum_names.h"

namespace assay::train {

/// The data that a block keeps for its backward; the options' names tell what is recomputed.
enum class Keep : std::uint8_t {
  all,        ///< every input of a product, and of attention
  selective,  ///< recomputes cheap values: norms and SwiGLU
  inputs,     ///< keeps only the block's input and recomputes everything
};
constexpr auto enum_names(Keep) {
  using enum Keep;
  return std::to_array<EnumName<Keep>>({{all, "none"}, {selective, "selective"}, {inputs, "full"}});
}

}  // namespace assay::train
