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

std::string_view to_string(RoundStatus status) noexcept {
  switch (status) {
    case RoundStatus::completed:
      return "completed";
    case RoundStatus::failed:
      return "failed";
    case RoundStatus::timed_out:
      return "timed_out";
    case RoundStatus::stalled:
      return "stalled";
    case RoundStatus::interrupted:
      return "interrupted";
    case RoundStatus::launch_failed:
      return "launch_failed";
    case RoundStatus::lost:
      return "lost";
    case RoundStatus::not_run:
      break;
  }
  return "not_run";
}

}  // namespace assay::judge
