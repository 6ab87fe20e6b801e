#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/job_request.h"

namespace assay::jobs {

/// Who has used how much of the cluster of late: device seconds that count half after every
/// half-life.
class FairShare {
 public:
  explicit FairShare(Nanoseconds half_life = std::chrono::hours(24 * 7)) : half_life_(half_life) {}

  /// Adds what a job has used up to `now_ns`. Times may come in any order.
  void add(const std::string& team, const std::string& user, double device_seconds,
           WallTime now_ns);

  /// Device seconds as they count at `now_ns`.
  [[nodiscard]] double usage(const std::string& team, const std::string& user,
                             WallTime now_ns) const;

  /// What everybody's usage makes of their place in line, at one moment.
  class Standing {
   public:
    /// From 0 (has had far more than its share) over 1/2 (just its share) to 1 (has had nothing).
    /// Three quarters of it are the team's, against the other teams by their weights; one quarter
    /// is the user's, against the others of the team.
    [[nodiscard]] double factor(const std::string& team, const std::string& user) const;

   private:
    friend class FairShare;
    struct TeamUse {
      double device_seconds = 0;
      double share = 1;
      std::map<std::string, double> users{};
    };
    double all_ = 0;
    double share_of_strangers_ = 1;
    std::map<std::string, TeamUse> teams_;
  };
  [[nodiscard]] Standing standing(const std::vector<Team>& teams, WallTime now_ns) const;

 private:
  struct Used {
    double device_seconds = 0;
    WallTime at_ns = 0;
  };
  [[nodiscard]] double decayed(const Used& used, WallTime now_ns) const;

  Nanoseconds half_life_;
  std::map<std::string, std::map<std::string, Used>> used_;  // by team and user
};

}  // namespace assay::jobs
