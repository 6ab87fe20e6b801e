#include "judge/result.h"

namespace assay::judge {

std::string_view to_string(Validity validity) noexcept {
  return to_text(validity);
}

std::string_view to_string(Severity severity) noexcept {
  return to_text(severity);
}

}  // namespace assay::judge
