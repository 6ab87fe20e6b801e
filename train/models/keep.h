#pragma once

#include <array>
#include <cstdint>

#include "core/enum_names.h"

namespace assay::train {

/// What is kept of a block for its backward; the options' names say what is computed again.
enum class Keep : std::uint8_t {
  all,        ///< every input of a product, and attention's
  selective,  ///< what is cheap is computed again: norms and SwiGLU
  inputs,     ///< only the block's input: all of it is computed again
};
constexpr auto enum_names(Keep) {
  using enum Keep;
  return std::to_array<EnumName<Keep>>({{all, "none"}, {selective, "selective"}, {inputs, "full"}});
}

}  // namespace assay::train
