#include "jobs/pending.h"

#include <fmt/format.h>

#include "core/text.h"
#include "core/time.h"

namespace assay::jobs {

namespace {

std::string of_type(const Pending& pending) {
  return pending.device_type.empty() ? "" : " of type " + printable(pending.device_type);
}

std::string asked_devices(const Pending& pending) {
  return "asks for " + counted(pending.devices, "device") + of_type(pending);
}

std::string asked_nodes(const Pending& pending) {
  const std::string nodes = counted(pending.nodes, "node");
  const std::string devices = counted(pending.devices, "device") + of_type(pending);
  return pending.nodes == 1 ? fmt::format("asks for {} with {}", nodes, devices)
                            : fmt::format("asks for {} with {} each", nodes, devices);
}

// "2026-11-15 10:15:00 UTC".
std::string spoken_utc(WallTime at_ns) {
  std::string text = iso_utc(at_ns);
  text.replace(text.find('T'), 1, " ");
  text.replace(text.size() - 1, 1, " UTC");
  return text;
}

std::string quota(const Pending& pending, std::string_view whose) {
  const std::string asks =
      fmt::format("{}; {} quota is {}", asked_devices(pending), whose, pending.limit);
  return pending.devices > pending.limit
             ? asks
             : fmt::format("{}, of which {} are in use", asks, pending.used);
}

}  // namespace

std::string to_words(const Pending& pending) {
  const std::string subject = printable(pending.subject);
  switch (pending.kind) {
    case PendingKind::approval:
      return "waits for approval";
    case PendingKind::owner_disabled:
      return "its owner, " + subject + ", is disabled";
    case PendingKind::owner_removed:
      return "its owner, " + subject + ", has no account any more";
    case PendingKind::owner_is_viewer:
      return "its owner, " + subject + ", is a viewer, and may not run jobs";
    case PendingKind::owner_left_team:
      return subject + " is no longer in team " + printable(pending.team);
    case PendingKind::paused:
      return "is paused until somebody resumes it";
    case PendingKind::stopping:
      return "is being stopped";
    case PendingKind::starting:
      return "has its nodes and is being started";
    case PendingKind::engine:
      return subject.empty() ? "waits in the queue of the cluster's own scheduler" : subject;
    case PendingKind::not_before:
      return "does not start before " + spoken_utc(pending.until_ns);
    case PendingKind::dependency:
      return fmt::format("waits for job {} to finish", pending.job);
    case PendingKind::dependency_failed:
      return fmt::format("can never run: job {} has not finished and never will", pending.job);
    case PendingKind::array_limit:
      return fmt::format("{} of its array run, and no more than {} may",
                         counted(pending.used, "element"), pending.limit);
    case PendingKind::no_queue:
      return "there is no queue '" + subject + "'";
    case PendingKind::queue_closed:
      return "the queue '" + subject + "' is closed";
    case PendingKind::no_team:
      return "there is no team '" + subject + "'";
    case PendingKind::team_quota:
      return quota(pending, "the team's");
    case PendingKind::user_quota:
      return quota(pending, "the user's");
    case PendingKind::no_such_type:
      return pending.device_type.empty() ? "the cluster has no nodes"
                                         : "no node has devices" + of_type(pending);
    case PendingKind::too_large:
      return fmt::format("{}; the cluster has {} of that size", asked_nodes(pending),
                         counted(pending.limit, "node"));
    case PendingKind::drained:
      return fmt::format("{}; of the cluster's {} of that size, {} can be used now: {}",
                         asked_nodes(pending), counted(pending.limit, "node"),
                         pending.limit - pending.used, subject);
    case PendingKind::reservation:
      return fmt::format("{}; nodes that are free are reserved ('{}')", asked_nodes(pending),
                         subject);
    case PendingKind::resources:
      return fmt::format(
          "{}; {} free now", asked_nodes(pending),
          pending.limit == 1 ? "1 such node is" : fmt::format("{} such nodes are", pending.limit));
    case PendingKind::priority:
      return fmt::format("would delay jobs before it in line, of which job {} is the first",
                         pending.job);
  }
  return {};
}

bool is_about_owner(PendingKind kind) {
  using enum PendingKind;
  return kind == owner_disabled || kind == owner_removed || kind == owner_is_viewer ||
         kind == owner_left_team;
}

Pending pending_by_state(const Life& life) {
  Pending pending;
  switch (life.state) {
    case State::unapproved:
      pending.kind = PendingKind::approval;
      break;
    case State::paused:
      pending.kind = PendingKind::paused;
      break;
    case State::scheduling:
      pending.kind = PendingKind::starting;
      break;
    case State::pausing:
    case State::killing:
      pending.kind = PendingKind::stopping;
      break;
    default:
      pending.kind = PendingKind::resources;
  }
  return pending;
}

}  // namespace assay::jobs
