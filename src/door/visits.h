#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "accounts/accounts.h"
#include "core/time.h"
#include "jobs/job_request.h"

namespace assay::door {

/// A person at an endpoint of a job.
struct Visit {
  accounts::Credential by{};  ///< the platform session or token it is based on
  jobs::JobId job = 0;
  std::string label{};  ///< the endpoint's

  bool operator==(const Visit&) const = default;
};

/// Admission to the endpoints' own sites, where the platform's cookie is not sent. A ticket from
/// the platform's page can be exchanged once for that site's cookie. Kept only in memory: after a
/// server restart, endpoints must be opened again. Times are on a monotonic clock. Thread-safe.
class Visits {
 public:
  static constexpr Nanoseconds kTicketTime = std::chrono::minutes(1);
  static constexpr Nanoseconds kVisitTime = std::chrono::hours(12);
  static constexpr std::size_t kMost = 10'000;  ///< of each; the oldest are dropped

  [[nodiscard]] std::string make_ticket(const Visit& visit, std::int64_t now_ns);
  /// The secret of a new visit; nothing for a ticket that is unknown, used, too old or for another
  /// endpoint.
  [[nodiscard]] std::optional<std::string> redeem(const std::string& ticket, jobs::JobId job,
                                                  const std::string& label, std::int64_t now_ns);
  [[nodiscard]] std::optional<Visit> find(const std::string& secret, std::int64_t now_ns);

 private:
  struct Kept {
    Visit visit;
    std::int64_t until_ns = 0;
  };
  using All = std::map<std::string, Kept>;  // by the secret's hash
  static std::string keep(All& all, const Visit& visit, std::int64_t now_ns, Nanoseconds time);

  std::mutex lock_;
  All tickets_;
  All visits_;
};

}  // namespace assay::door
