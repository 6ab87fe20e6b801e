#pragma once

#include <array>

#include "core/enum_names.h"

namespace assay::jobs {

enum class Role { viewer, member, admin };

constexpr auto enum_names(Role) {
  using enum Role;
  return std::to_array<EnumName<Role>>({{viewer, "viewer"}, {member, "member"}, {admin, "admin"}});
}

/// Whose the thing is that somebody wants to do something with, seen from them.
enum class Whose {
  own,
  team,     ///< somebody else's of a team that they are in
  foreign,  ///< of another team
};

constexpr auto enum_names(Whose) {
  using enum Whose;
  return std::to_array<EnumName<Whose>>({{own, "own"}, {team, "team"}, {foreign, "foreign"}});
}

enum class Deed {
  list_jobs,       ///< that there are such jobs, whose they are and what they use
  read_job,        ///< its submission, console, metrics and report
  submit_job,      ///< in a team: own is meaningless, team is a team that they are in
  stop_job,        ///< kill, pause and resume
  change_job,      ///< its name, its priority within the user's range
  delete_job,      ///< and its run directory
  enter_job,       ///< endpoints, terminal and ssh
  share_job,       ///< let others enter it
  raise_priority,  ///< beyond the default
  approve_job,
  read_template,
  write_template,
  list_secrets,  ///< their names; nobody ever reads a value
  write_secret,  ///< give it a value, or remove it
  read_cluster,
  drain_node,
  reserve_nodes,
  read_usage,
  write_queue,
  write_team,  ///< its members and quotas
  set_policy,  ///< when idle jobs are stopped, and how long what jobs leave is kept
  write_user,  ///< name, password, role; of oneself name and password only
  make_token,
  revoke_token,
  read_audit_log,
};

constexpr auto enum_names(Deed) {
  using enum Deed;
  return std::to_array<EnumName<Deed>>(
      {{list_jobs, "list_jobs"},           {read_job, "read_job"},
       {submit_job, "submit_job"},         {stop_job, "stop_job"},
       {change_job, "change_job"},         {delete_job, "delete_job"},
       {enter_job, "enter_job"},           {share_job, "share_job"},
       {raise_priority, "raise_priority"}, {approve_job, "approve_job"},
       {read_template, "read_template"},   {write_template, "write_template"},
       {list_secrets, "list_secrets"},     {write_secret, "write_secret"},
       {read_cluster, "read_cluster"},     {drain_node, "drain_node"},
       {reserve_nodes, "reserve_nodes"},   {read_usage, "read_usage"},
       {write_queue, "write_queue"},       {write_team, "write_team"},
       {set_policy, "set_policy"},         {write_user, "write_user"},
       {make_token, "make_token"},         {revoke_token, "revoke_token"},
       {read_audit_log, "read_audit_log"}});
}

/// Who may do what: the one table (permissions.cpp). What it does not allow is refused.
[[nodiscard]] bool may(Role role, Deed deed, Whose whose) noexcept;

}  // namespace assay::jobs
