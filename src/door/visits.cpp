#include "door/visits.h"

#include <algorithm>

#include "core/sha256.h"
#include "serve/random_text.h"

namespace assay::door {

std::string Visits::keep(All& all, const Visit& visit, std::int64_t now_ns, Nanoseconds time) {
  std::erase_if(all, [&](const auto& one) { return one.second.until_ns <= now_ns; });
  if (all.size() >= kMost)
    all.erase(
        std::ranges::min_element(all, {}, [](const auto& one) { return one.second.until_ns; }));
  std::string secret = serve::random_hex(32);
  all[sha256(secret)] = {visit, now_ns + time.count()};
  return secret;
}

std::string Visits::make_ticket(const Visit& visit, std::int64_t now_ns) {
  const std::scoped_lock lock(lock_);
  return keep(tickets_, visit, now_ns, kTicketTime);
}

std::optional<std::string> Visits::redeem(const std::string& ticket, jobs::JobId job,
                                          const std::string& label, std::int64_t now_ns) {
  const std::scoped_lock lock(lock_);
  const auto found = tickets_.find(sha256(ticket));
  if (found == tickets_.end()) return std::nullopt;
  const Kept kept = found->second;
  tickets_.erase(found);  // even if it is invalid, it has been shown
  if (kept.until_ns <= now_ns || kept.visit.job != job || kept.visit.label != label)
    return std::nullopt;
  return keep(visits_, kept.visit, now_ns, kVisitTime);
}

std::optional<Visit> Visits::find(const std::string& secret, std::int64_t now_ns) {
  const std::scoped_lock lock(lock_);
  const auto found = visits_.find(sha256(secret));
  if (found == visits_.end() || found->second.until_ns <= now_ns) return std::nullopt;
  return found->second.visit;
}

}  // namespace assay::door
