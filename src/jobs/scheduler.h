#pragma once

#include <optional>
#include <vector>

#include "jobs/fair_share.h"
#include "jobs/job_request.h"
#include "jobs/pending.h"

namespace assay::jobs {

struct SchedulerOptions {
  /// Jobs that do not fit yet and get nodes and a start planned, in the order of the line. The
  /// first of them is never delayed by others; the more there are, the longer a decision takes.
  std::size_t plan_depth = 50;
  /// A job gains so many points of priority in an hour of waiting. More than 0, or jobs of low
  /// priority may wait for ever.
  double points_per_hour = 10;
  /// Points of a job whose user and team have used nothing; nobody has fewer than 0.
  double fair_share_points = 100;
  /// That stopping a job takes at most.
  Nanoseconds grace = std::chrono::seconds(60);
  /// The engine has a scheduler of its own: whatever need not wait for something else is started,
  /// without a placement. Nodes, quotas and priorities decide nothing here.
  bool hand_over = false;
};

/// Whose jobs do not start: somebody's, or somebody's in one team.
struct Barred {
  PendingKind why = PendingKind::owner_disabled;  ///< is_about_owner()
  std::string user{};
  std::string team{};
};

/// All that a decision depends on. A cluster without a list of queues or teams takes any.
struct Snapshot {
  std::vector<ClusterNode> nodes{};
  std::vector<Reservation> reservations{};
  std::vector<Queue> queues{};
  std::vector<Team> teams{};
  std::vector<Request> queued{};
  std::vector<Request> unapproved{};  ///< not in line; but those that can never run are broken
  std::vector<Occupant> occupants{};
  std::vector<Barred> barred{};  ///< each user and team once; what runs of theirs goes on
  FairShare fair_share{};
};

struct Decision {
  struct Start {
    JobId id = 0;
    Placement placement{};
  };
  struct Preemption {
    JobId id = 0;        ///< is to be stopped
    JobId in_favor = 0;  ///< of this one
  };
  struct Broken {
    JobId id = 0;  ///< can never run, because
    JobId of = 0;  ///< this one has not finished and never will
  };
  struct Waiting {
    JobId id = 0;
    int place = 0;  ///< in line, from 1; 0: it is not in line
    Pending reason{};
    std::optional<WallTime> estimated_start_ns{};
  };
  std::vector<Start> starts{};
  std::vector<Preemption> preemptions{};
  std::vector<Broken> broken{};
  std::vector<Waiting> waiting{};  ///< in line first, then the others
  /// When to decide again although nothing has happened: a planned start, or a job's time that has
  /// come. Nothing: not before something happens.
  std::optional<WallTime> wake_ns{};
};

/// Which jobs start now and where, which make room, and why all others wait. Pure: the same
/// snapshot and time give the same decision.
///
/// The line is ordered by priority (the queue's, the job's, its age and its fair share), then by
/// time of submission. A job starts when all of its nodes are free at once; it gets the fullest
/// nodes that still have room. The first job that does not fit is planned for the earliest moment
/// at which it must fit if everything runs for as long as it may, and so are those behind it, up to
/// plan_depth; nothing starts that would be in the way of what is planned.
[[nodiscard]] Decision decide(const Snapshot& snapshot, const SchedulerOptions& options,
                              WallTime now_ns);

}  // namespace assay::jobs
