#pragma once

#include <string>

#include "jobs/job_request.h"

namespace assay::jobs {

enum class PendingKind {
  approval,
  owner_disabled,  ///< its owner may not submit jobs any more
  owner_removed,
  owner_is_viewer,
  owner_left_team,  ///< of the job
  paused,
  stopping,           ///< it goes on when it has stopped
  starting,           ///< it has nodes
  engine,             ///< the engine's own scheduler has it, and says why
  not_before,         ///< a pause before a retry, or a schedule
  dependency,         ///< another job comes first
  dependency_failed,  ///< that has not finished, and never will: it can never run
  array_limit,        ///< enough elements of its array run
  no_queue,           ///< there is no such queue
  queue_closed,
  no_team,
  team_quota,
  user_quota,
  no_such_type,  ///< no node has such devices
  too_large,     ///< the cluster has not enough nodes of that size
  drained,       ///< it has, but some of them are drained or lost
  reservation,   ///< enough nodes are free, but somebody else has reserved them
  resources,     ///< enough devices are not free
  priority,      ///< they are, but it would delay a job that comes first
};

constexpr auto enum_names(PendingKind) {
  using enum PendingKind;
  return std::to_array<EnumName<PendingKind>>({{approval, "approval"},
                                               {owner_disabled, "owner_disabled"},
                                               {owner_removed, "owner_removed"},
                                               {owner_is_viewer, "owner_is_viewer"},
                                               {owner_left_team, "owner_left_team"},
                                               {paused, "paused"},
                                               {stopping, "stopping"},
                                               {starting, "starting"},
                                               {engine, "engine"},
                                               {not_before, "not_before"},
                                               {dependency, "dependency"},
                                               {dependency_failed, "dependency_failed"},
                                               {array_limit, "array_limit"},
                                               {no_queue, "no_queue"},
                                               {queue_closed, "queue_closed"},
                                               {no_team, "no_team"},
                                               {team_quota, "team_quota"},
                                               {user_quota, "user_quota"},
                                               {no_such_type, "no_such_type"},
                                               {too_large, "too_large"},
                                               {drained, "drained"},
                                               {reservation, "reservation"},
                                               {resources, "resources"},
                                               {priority, "priority"}});
}

/// Why a job does not run. Fields that a kind does not need are empty.
struct Pending {
  PendingKind kind = PendingKind::resources;
  int nodes = 0;              ///< asked for
  int devices = 0;            ///< asked for: on each node, or in all where a quota is the reason
  std::string device_type{};  ///< empty: any
  int limit = 0;              ///< the quota, the array's limit, or the nodes that there are
  int used = 0;               ///< of the limit
  std::string subject{};      ///< the team, user, queue, reservation or nodes; the engine's words
  JobId job = 0;              ///< the job that comes first
  WallTime until_ns = 0;      ///< of not_before
  std::string team{};         ///< of owner_left_team, whose subject is the owner

  bool operator==(const Pending&) const = default;
  static void fields(auto& self, auto&& field) {
    field("kind", self.kind);
    field("nodes", self.nodes);
    field("devices", self.devices);
    field.optional("device_type", self.device_type);
    field("limit", self.limit);
    field("used", self.used);
    field.optional("subject", self.subject);
    field.optional("team", self.team);
    field("job", self.job);
    field("until_ns", self.until_ns);
  }
};

/// "asks for 16 devices of type H200; the team's quota is 8".
[[nodiscard]] std::string to_words(const Pending& pending);

/// It waits for somebody to change what its owner may.
[[nodiscard]] bool is_about_owner(PendingKind kind);

/// Why a job that is not in the scheduler's hands does not run.
[[nodiscard]] Pending pending_by_state(const Life& life);

}  // namespace assay::jobs
