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

std::string_view to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::incomplete:
      return "incomplete";
    case Severity::invalid:
      break;
  }
  return "invalid";
}

}  // namespace assay::judge
