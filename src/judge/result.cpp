#include "judge/result.h"

namespace assay::judge {

std::string_view to_string(Validity validity) noexcept {
  switch (validity) {
    case Validity::valid:
      return "VALID";
    case Validity::invalid:
      return "INVALID";
    case Validity::incomplete:
      break;
  }
  return "INCOMPLETE";
}

}  // namespace assay::judge
