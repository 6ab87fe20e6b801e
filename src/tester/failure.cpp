#include "tester/failure.h"

#include "core/disk_full.h"
#include "database/database.h"

namespace assay::tester {

serve::Refusal failure_of(const std::exception& error, const std::string& what) {
  using database::Cause;
  const auto* const failed = dynamic_cast<const database::DatabaseError*>(&error);
  const Cause cause = failed == nullptr ? Cause::other : failed->cause();
  if (cause == Cause::disk_full || is_disk_full(error))
    return {507, "no_room", "the tester's disk is full", "try again later; what was sent is kept"};
  if (cause != Cause::locked && cause != Cause::not_writable)
    return {500, "internal", what, "the tester's operator finds the cause in its log"};
  serve::Refusal refusal(503, "unavailable", "the tester's records cannot be written",
                         "the tester's operator finds the cause in its log");
  refusal.retry_after_s = 5;
  return refusal;
}

}  // namespace assay::tester
