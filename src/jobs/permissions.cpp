#include "jobs/permissions.h"

#include <string_view>

namespace assay::jobs {

namespace {

/// A letter for each of own, team and foreign: the least role that may.
struct Permission {
  Deed deed;
  std::string_view least;  // v viewer, m member, a admin, - nobody
};

// An endpoint is a shell on the nodes in somebody's name: not even an admin enters uninvited (whom
// its owner shares a job with enters it as if it were their own), and tokens are made for oneself
// only. A team's secrets are its members'.
constexpr std::array kPermissions{
    Permission{Deed::list_jobs, "vvv"},      Permission{Deed::read_job, "vva"},
    Permission{Deed::submit_job, "mma"},     Permission{Deed::stop_job, "maa"},
    Permission{Deed::change_job, "maa"},     Permission{Deed::delete_job, "maa"},
    Permission{Deed::enter_job, "m--"},      Permission{Deed::share_job, "m--"},
    Permission{Deed::raise_priority, "aaa"}, Permission{Deed::approve_job, "aaa"},
    Permission{Deed::read_template, "vva"},  Permission{Deed::write_template, "mma"},
    Permission{Deed::list_secrets, "vv-"},   Permission{Deed::write_secret, "mm-"},
    Permission{Deed::read_cluster, "vvv"},   Permission{Deed::drain_node, "aaa"},
    Permission{Deed::reserve_nodes, "aaa"},  Permission{Deed::read_usage, "vva"},
    Permission{Deed::write_queue, "aaa"},    Permission{Deed::write_team, "aaa"},
    Permission{Deed::set_policy, "aaa"},     Permission{Deed::write_user, "vaa"},
    Permission{Deed::make_token, "v--"},     Permission{Deed::revoke_token, "vaa"},
    Permission{Deed::read_audit_log, "aaa"},
};
static_assert(kPermissions.size() == enum_values<Deed>().size());

}  // namespace

bool may(Role role, Deed deed, Whose whose) noexcept {
  for (const Permission& permission : kPermissions) {
    if (permission.deed != deed) continue;
    switch (permission.least[static_cast<std::size_t>(whose)]) {
      case 'v':
        return role >= Role::viewer;
      case 'm':
        return role >= Role::member;
      case 'a':
        return role == Role::admin;
      default:
        return false;
    }
  }
  return false;
}

}  // namespace assay::jobs
