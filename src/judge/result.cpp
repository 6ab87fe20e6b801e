#include "judge/result.h"

namespace assay::judge {

std::string_view to_string(Validity validity) noexcept {
  return to_text(validity);
}

}  // namespace assay::judge
