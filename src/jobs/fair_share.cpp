#include "jobs/fair_share.h"

#include <algorithm>
#include <cmath>

namespace assay::jobs {

namespace {

constexpr double kTeamPart = 0.75;

/// One half when the used part is the share, 1 when nothing was used.
double factor_of(double used, double used_by_all, double share) {
  if (used_by_all <= 0 || used <= 0) return 1;
  return share <= 0 ? 0 : std::exp2(-(used / used_by_all) / share);
}

}  // namespace

double FairShare::decayed(const Used& used, WallTime now_ns) const {
  const double age = static_cast<double>(std::max<std::int64_t>(0, now_ns - used.at_ns));
  return used.device_seconds * std::exp2(-age / static_cast<double>(half_life_.count()));
}

void FairShare::add(const std::string& team, const std::string& user, double device_seconds,
                    WallTime now_ns) {
  if (!(device_seconds > 0) || !std::isfinite(device_seconds)) return;
  Used& used = used_[team][user];
  // What is reported late has decayed as well.
  const WallTime at_ns = std::max(used.at_ns, now_ns);
  used = {decayed(used, at_ns) + decayed({device_seconds, now_ns}, at_ns), at_ns};
}

double FairShare::usage(const std::string& team, const std::string& user, WallTime now_ns) const {
  const auto users = used_.find(team);
  if (users == used_.end()) return 0;
  const auto used = users->second.find(user);
  return used == users->second.end() ? 0 : decayed(used->second, now_ns);
}

FairShare::Standing FairShare::standing(const std::vector<Team>& teams, WallTime now_ns) const {
  Standing standing;
  double weights = 0;
  for (const Team& team : teams) weights += team.weight;
  for (const Team& team : teams)
    standing.teams_[team.name].share = weights > 0 ? team.weight / weights : 0;
  standing.share_of_strangers_ = teams.empty() ? 1 : 0;
  for (const auto& [name, users] : used_) {
    const auto known = standing.teams_.try_emplace(name);
    Standing::TeamUse& use = known.first->second;
    if (known.second) use.share = standing.share_of_strangers_;
    for (const auto& [user, used] : users)
      use.device_seconds += use.users[user] = decayed(used, now_ns);
    standing.all_ += use.device_seconds;
  }
  return standing;
}

double FairShare::Standing::factor(const std::string& team, const std::string& user) const {
  const auto known = teams_.find(team);
  if (known == teams_.end()) return 1;
  const TeamUse& use = known->second;
  const auto own = use.users.find(user);
  const bool is_new = own == use.users.end();
  const double user_share = 1.0 / static_cast<double>(use.users.size() + (is_new ? 1 : 0));
  return kTeamPart * factor_of(use.device_seconds, all_, use.share) +
         (1 - kTeamPart) * factor_of(is_new ? 0 : own->second, use.device_seconds, user_share);
}

}  // namespace assay::jobs
