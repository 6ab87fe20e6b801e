#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_request.h"
#include "jobs/pending.h"
#include "jobs/usage_profile.h"

namespace assay::jobs {

/// The nodes and quotas of a cluster over time, as far as they are used or promised. What it is
/// made of must outlive it.
class Resources {
 public:
  Resources(const std::vector<ClusterNode>& nodes, const std::vector<Reservation>& reservations,
            const std::vector<Team>& teams, Nanoseconds grace, WallTime now_ns);

  struct Plan {
    WallTime start_ns = 0;
    std::vector<std::size_t> nodes{};
  };

  /// What decides who makes room for whom: both have to be less than the other's. Priority, because
  /// age and fair share are no reason to stop a job; points, because one that is back in line must
  /// stand behind the job that it made room for, or they would take turns.
  struct Standing {
    int priority = 0;
    double points = 0;  ///< of an occupant: what it would have, back in line

    [[nodiscard]] bool yields_to(const Standing& other) const noexcept {
      return priority < other.priority && points < other.points;
    }
  };

  /// A job that holds nodes; it has a standing when it may be stopped for others. Of nodes that are
  /// gone nothing is counted.
  void occupy(const Occupant& occupant, const std::optional<Standing>& standing);
  /// The nodes are the job's from the start of the plan on.
  void take(const Request& request, const Plan& plan);

  /// The nodes of a start now; nothing where it does not fit.
  [[nodiscard]] std::optional<Plan> start_now(const Request& request) const;
  /// The earliest start; nothing where there is none.
  [[nodiscard]] std::optional<Plan> earliest(const Request& request) const;

  /// A quota that the request does not fit in now; one that it never fits in first.
  struct Excess {
    PendingKind kind = PendingKind::team_quota;
    int asked = 0;
    int limit = 0;
    int used = 0;

    [[nodiscard]] bool forever() const noexcept { return asked > limit; }
  };
  /// What there is of one device type for a request.
  struct Supply {
    int large_enough = 0;    ///< nodes with as many devices as are asked for
    int available = 0;       ///< of those, neither drained nor lost
    int free = 0;            ///< of those, free now
    std::string reserved{};  ///< a reservation of others on a free one; empty: none
    std::optional<Excess> excess{};
  };
  /// Of each type that the request can have; empty: there is none.
  [[nodiscard]] std::vector<Supply> supplies(const Request& request) const;

  /// Makes room for a request of this standing: names the jobs that have to be stopped, counts them
  /// as gone after the grace, and plans the request for then. Nothing where that is impossible.
  struct Eviction {
    std::vector<JobId> victims{};
    Plan plan{};
  };
  [[nodiscard]] std::optional<Eviction> evict(const Request& request, const Standing& standing);

  /// That a job may occupy its nodes: its time, and the grace in which it is stopped.
  [[nodiscard]] std::int64_t length(const Request& request) const noexcept;
  [[nodiscard]] Placement placement(const Request& request, const Plan& plan) const;

 private:
  /// A job's part of a node, which can be had by stopping the job.
  struct Tenant {
    JobId id;
    int devices;
    WallTime end_ns;
    Standing standing;
  };
  struct Node {
    std::string name;
    std::size_t type;
    bool available;
    Profile profile;
    std::vector<std::size_t> reservations{};
    std::vector<Tenant> tenants{};  // the first to go first
  };
  struct Type {
    std::vector<std::size_t> nodes{};
    std::vector<int> by_free{};  // how many available nodes have so many devices free now
    int largest = 0;
  };
  struct QuotaKey {
    std::string team;
    std::string user;  // empty: the whole team
    std::size_t type;
    auto operator<=>(const QuotaKey&) const = default;
  };
  struct Limit {
    PendingKind kind;
    QuotaKey key;
    int limit;
  };

  [[nodiscard]] WallTime end_of(WallTime start_ns, const Request& request) const noexcept;
  [[nodiscard]] std::vector<std::size_t> types_for(const Request& request) const;
  [[nodiscard]] static int amount(const Request& request, const Node& node) noexcept;
  [[nodiscard]] int total(const Request& request, std::size_t type) const noexcept;
  [[nodiscard]] const Reservation* in_the_way(const Request& request, const Node& node,
                                              WallTime from_ns, WallTime to_ns) const;
  [[nodiscard]] bool fits(const Request& request, const Node& node, WallTime start_ns) const;
  [[nodiscard]] std::vector<std::size_t> best_fit(const Request& request, std::size_t type,
                                                  WallTime start_ns) const;
  [[nodiscard]] std::optional<Plan> earliest(const Request& request, std::size_t type) const;
  [[nodiscard]] std::vector<Limit> limits(const Request& request, std::size_t type) const;
  [[nodiscard]] const Profile* quota(const QuotaKey& key) const;
  [[nodiscard]] std::optional<Excess> exceeded(const Request& request, std::size_t type,
                                               WallTime start_ns) const;
  void use(std::size_t node, WallTime from_ns, WallTime to_ns, int devices);
  void use_quotas(const Request& request, std::size_t type, WallTime from_ns, WallTime to_ns,
                  int devices);
  [[nodiscard]] std::optional<Eviction> evict(const Request& request, const Standing& standing,
                                              std::size_t type) const;
  void release(JobId victim, WallTime by_ns);

  const std::vector<Reservation>& reservations_;
  std::map<std::string, const Team*, std::less<>> teams_;
  Nanoseconds grace_;
  WallTime now_ns_;
  std::vector<Node> nodes_;
  std::vector<Type> types_;
  std::map<std::string, std::size_t> type_index_;
  std::map<std::string, std::size_t> node_index_;
  std::map<QuotaKey, Profile> quotas_;
  std::map<JobId, const Occupant*> evictable_;
};

}  // namespace assay::jobs
