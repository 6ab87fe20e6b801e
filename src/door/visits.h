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

/// Somebody at an endpoint of a job.
struct Visit {
  accounts::Credential by{};  ///< the platform's session or token that it comes from
  jobs::JobId job = 0;
  std::string label{};  ///< of the endpoint

  bool operator==(const Visit&) const = default;
};

/// Who may come in at the endpoints' own sites: there the platform's cookie is not sent. A ticket
/// of the platform's page becomes, once, the cookie of that site. In memory alone: after a restart
/// of the server an endpoint is opened anew. Times are of a monotonic clock. Thread-safe.
class Visits {
 public:
  static constexpr Nanoseconds kTicketTime = std::chrono::minutes(1);
  static constexpr Nanoseconds kVisitTime = std::chrono::hours(12);
  static constexpr std::size_t kMost = 10'000;  ///< of each; the oldest go

  [[nodiscard]] std::string make_ticket(const Visit& visit, std::int64_t now_ns);
  /// The secret of a new visit; nothing for a ticket that is not known, was used, is too old, or is
  /// for another endpoint.
  [[nodiscard]] std::optional<std::string> redeem(const std::string& ticket, jobs::JobId job,
                                                  const std::string& label, std::int64_t now_ns);
  [[nodiscard]] std::optional<Visit> find(const std::string& secret, std::int64_t now_ns);

 private:
  struct Kept {
    Visit visit;
    std::int64_t until_ns = 0;
  };
  using All = std::map<std::string, Kept>;  // by the hash of the secret
  static std::string keep(All& all, const Visit& visit, std::int64_t now_ns, Nanoseconds time);

  std::mutex lock_;
  All tickets_;
  All visits_;
};

}  // namespace assay::door
