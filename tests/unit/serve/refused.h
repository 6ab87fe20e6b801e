#pragma once

#include <string>

#include <fmt/format.h>

#include "serve/refusal.h"

namespace assay::serve {

/// "413 too_large" of the Refusal that `f` throws.
template <class F>
std::string refused(F&& f) {
  try {
    (void)f();
  } catch (const Refusal& refusal) {
    return fmt::format("{} {}", refusal.status, refusal.code);
  }
  return "granted";
}

}  // namespace assay::serve
