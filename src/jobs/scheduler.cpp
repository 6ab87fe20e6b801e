#include "jobs/scheduler.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/text.h"
#include "jobs/cluster_resources.h"

namespace assay::jobs {

namespace {

/// One decision.
class SchedulingPass {
 public:
  SchedulingPass(const Snapshot& snapshot, const SchedulerOptions& options, WallTime now_ns)
      : snapshot_(snapshot),
        options_(options),
        now_ns_(now_ns),
        resources_(snapshot.nodes, snapshot.reservations, snapshot.teams, options.grace, now_ns),
        standing_(snapshot.fair_share.standing(snapshot.teams, now_ns)) {
    for (const Queue& queue : snapshot.queues) queues_.emplace(queue.name, &queue);
    for (const Team& team : snapshot.teams) teams_.emplace(team.name, &team);
    for (const Barred& one : snapshot.barred)
      barred_.emplace(std::pair(one.user, one.team), one.why);
    for (const Occupant& occupant : snapshot.occupants) {
      const Request& request = occupant.request;
      std::optional<Resources::Standing> standing;
      if (request.preemptible) standing = {base_priority(request), points(request, now_ns)};
      resources_.occupy(occupant, standing);
      if (request.array != 0) ++array_use_[request.array];
    }
  }

  Decision run() {
    for (const Request& request : snapshot_.queued) admit(request);
    for (const Request& request : snapshot_.unapproved) set_aside(request);
    std::ranges::sort(line_, [](const InLine& a, const InLine& b) {
      if (a.points != b.points) return a.points > b.points;
      return std::tuple(a.request->waiting_since_ns, a.request->id) <
             std::tuple(b.request->waiting_since_ns, b.request->id);
    });
    int place = 0;
    for (const InLine& in_line : line_) consider(*in_line.request, ++place);
    std::ranges::move(aside_, std::back_inserter(decision_.waiting));
    for (const Decision::Waiting& waiting : decision_.waiting) {
      if (waiting.estimated_start_ns) wake_at(*waiting.estimated_start_ns);
      if (waiting.reason.kind == PendingKind::not_before) wake_at(waiting.reason.until_ns);
    }
    return std::move(decision_);
  }

 private:
  struct InLine {
    const Request* request;
    double points;
  };

  void wake_at(WallTime at_ns) {
    if (!decision_.wake_ns || at_ns < *decision_.wake_ns) decision_.wake_ns = at_ns;
  }
  [[nodiscard]] const Queue* queue_of(const Request& request) const {
    const auto found = queues_.find(request.queue);
    return found == queues_.end() ? nullptr : found->second;
  }
  /// Without age and fair share.
  [[nodiscard]] int base_priority(const Request& request) const {
    const Queue* queue = queue_of(request);
    return request.priority + (queue == nullptr ? 0 : queue->priority);
  }
  /// Of a job that has waited since then.
  [[nodiscard]] double points(const Request& request, WallTime since_ns) const {
    const auto waited = static_cast<double>(std::max<std::int64_t>(0, now_ns_ - since_ns));
    return base_priority(request) + options_.points_per_hour * waited / 3.6e12 +
           options_.fair_share_points * standing_.factor(request.team, request.user);
  }

  /// It waits for a job that has ended otherwise than it should.
  bool is_broken(const Request& request) {
    for (const Dependency& dependency : request.after) {
      if (!is_final(dependency.state) || dependency.state == State::finished) continue;
      decision_.broken.push_back({request.id, dependency.id});
      return true;
    }
    return false;
  }

  void set_aside(const Request& unapproved) {
    if (is_broken(unapproved)) return;
    Pending reason = asked(unapproved);
    reason.kind = PendingKind::approval;
    aside_.push_back({unapproved.id, 0, std::move(reason), std::nullopt});
  }

  /// Into the line, or aside with the reason.
  void admit(const Request& request) {
    if (is_broken(request)) return;
    if (auto reason = reason_to_stay_aside(request))
      aside_.push_back({request.id, 0, std::move(*reason), std::nullopt});
    else
      line_.push_back({&request, points(request, request.waiting_since_ns)});
  }

  [[nodiscard]] std::optional<Pending> reason_to_stay_aside(const Request& request) const {
    Pending reason = asked(request);
    if (const auto barred = barred_.find({request.user, request.team}); barred != barred_.end()) {
      reason.kind = barred->second;
      reason.subject = request.user;
      if (reason.kind == PendingKind::owner_left_team) reason.team = request.team;
      return reason;
    }
    for (const Dependency& dependency : request.after) {
      if (dependency.state == State::finished) continue;
      reason.kind = PendingKind::dependency;
      reason.job = dependency.id;
      return reason;
    }
    if (request.not_before_ns > now_ns_) {
      reason.kind = PendingKind::not_before;
      reason.until_ns = request.not_before_ns;
      return reason;
    }
    const Queue* queue = queue_of(request);
    if (queue == nullptr ? !snapshot_.queues.empty() : queue->closed) {
      reason.kind = queue == nullptr ? PendingKind::no_queue : PendingKind::queue_closed;
      reason.subject = request.queue;
      return reason;
    }
    if (options_.hand_over) return std::nullopt;
    if (!request.team.empty() && !snapshot_.teams.empty() && !teams_.contains(request.team)) {
      reason.kind = PendingKind::no_team;
      reason.subject = request.team;
      return reason;
    }
    return reason_never_to_fit(request);
  }

  /// Whether a start is possible some day, as things are.
  static bool can_fit(const Request& request, const Resources::Supply& supply) {
    return supply.available >= request.nodes && !(supply.excess && supply.excess->forever());
  }

  [[nodiscard]] std::optional<Pending> reason_never_to_fit(const Request& request) const {
    Pending reason = asked(request);
    reason.kind = PendingKind::too_large;
    if (request.nodes < 1 || request.devices < 1) return reason;
    const std::vector<Resources::Supply> supplies = resources_.supplies(request);
    if (supplies.empty()) reason.kind = PendingKind::no_such_type;
    for (const Resources::Supply& supply : supplies) {
      if (can_fit(request, supply)) return std::nullopt;
      if (reason.kind == PendingKind::drained) continue;
      // Of several types, the one that comes nearest to fitting.
      if (supply.large_enough < request.nodes) {
        if (reason.kind == PendingKind::too_large)
          reason.limit = std::max(reason.limit, supply.large_enough);
      } else if (supply.excess && supply.excess->forever()) {
        reason = quota_reason(request, *supply.excess);
      } else {
        reason = asked(request);
        reason.kind = PendingKind::drained;
        reason.limit = supply.large_enough;
        reason.used = supply.large_enough - supply.available;
        reason.subject = who_is_away(request);
      }
    }
    return reason;
  }

  /// "node2 is drained ('new disk'), node3 is lost": the first of the nodes that it could use else.
  [[nodiscard]] std::string who_is_away(const Request& request) const {
    constexpr std::size_t kNodes = 3;
    std::vector<std::string> words;
    std::size_t more = 0;
    for (const ClusterNode& node : snapshot_.nodes) {
      if (node.available || node.devices < request.devices ||
          (!request.device_type.empty() && node.device_type != request.device_type))
        continue;
      if (words.size() == kNodes)
        ++more;
      else
        words.push_back(why_away(node));
    }
    return join(words, ", ") + (more == 0 ? "" : fmt::format(", and {} more", more));
  }
  static std::string why_away(const ClusterNode& node) {
    constexpr std::size_t kMost = 100;
    if (!node.drained) return node.name + " is lost";
    if (node.reason.empty()) return node.name + " is drained";
    return node.name + " is drained ('" + ellipsize(node.reason, kMost) + "')";
  }

  void consider(const Request& request, int place) {
    if (request.array != 0 && request.array_limit > 0 &&
        array_use_[request.array] >= request.array_limit) {
      Pending reason = asked(request);
      reason.kind = PendingKind::array_limit;
      reason.limit = request.array_limit;
      reason.used = array_use_[request.array];
      decision_.waiting.push_back({request.id, place, std::move(reason), std::nullopt});
      return;
    }
    if (options_.hand_over) {
      decision_.starts.push_back({request.id, {}});
      if (request.array != 0) ++array_use_[request.array];
      return;
    }
    if (const auto plan = resources_.start_now(request)) {
      decision_.starts.push_back({request.id, resources_.placement(request, *plan)});
      resources_.take(request, *plan);
      if (request.array != 0) ++array_use_[request.array];
      return;
    }
    Decision::Waiting waiting{request.id, place, reason_to_wait(request), std::nullopt};
    if (planned_ < options_.plan_depth) {
      if (auto plan = plan_ahead(request)) {
        ++planned_;
        if (first_ == 0) first_ = request.id;
        waiting.estimated_start_ns = plan->start_ns;
        resources_.take(request, *plan);
      }
    }
    decision_.waiting.push_back(std::move(waiting));
  }

  /// By itself, or by taking the place of others where that is sooner.
  std::optional<Resources::Plan> plan_ahead(const Request& request) {
    auto plan = resources_.earliest(request);
    const Queue* queue = queue_of(request);
    if ((queue != nullptr && !queue->preempts) ||
        (plan && plan->start_ns <= now_ns_ + options_.grace.count()))
      return plan;
    if (auto eviction = resources_.evict(
            request, {base_priority(request), points(request, request.waiting_since_ns)})) {
      for (const JobId victim : eviction->victims)
        decision_.preemptions.push_back({victim, request.id});
      return eviction->plan;
    }
    return plan;
  }

  [[nodiscard]] Pending reason_to_wait(const Request& request) const {
    Pending reason = asked(request);
    std::optional<Resources::Excess> excess;
    std::optional<Resources::Supply> best;  // the most nodes that are free and within the quota
    for (Resources::Supply& supply : resources_.supplies(request)) {
      if (!can_fit(request, supply)) continue;
      if (supply.excess)
        excess = supply.excess;
      else if (!best || supply.free > best->free)
        best = std::move(supply);
    }
    if (!best) return excess ? quota_reason(request, *excess) : reason;
    reason.limit = best->free;
    if (best->free < request.nodes) return reason;
    if (!best->reserved.empty()) {
      reason.kind = PendingKind::reservation;
      reason.subject = best->reserved;
    } else if (first_ != 0) {
      reason.kind = PendingKind::priority;
      reason.job = first_;
    }
    return reason;
  }

  static Pending quota_reason(const Request& request, const Resources::Excess& excess) {
    Pending reason = asked(request);
    reason.kind = excess.kind;
    reason.devices = excess.asked;
    reason.limit = excess.limit;
    reason.used = excess.used;
    reason.subject = excess.kind == PendingKind::user_quota ? request.user : request.team;
    return reason;
  }
  static Pending asked(const Request& request) {
    Pending reason;
    reason.nodes = request.nodes;
    reason.devices = request.devices;
    reason.device_type = request.device_type;
    return reason;
  }

  const Snapshot& snapshot_;
  const SchedulerOptions& options_;
  WallTime now_ns_;
  Resources resources_;
  FairShare::Standing standing_;
  std::map<std::string, const Queue*> queues_;
  std::map<std::string, const Team*> teams_;
  std::map<std::pair<std::string, std::string>, PendingKind> barred_;  // by user and team
  std::map<JobId, int> array_use_;
  std::vector<InLine> line_;
  std::vector<Decision::Waiting> aside_;
  std::size_t planned_ = 0;
  JobId first_ = 0;  // the first job that was planned
  Decision decision_;
};

}  // namespace

Decision decide(const Snapshot& snapshot, const SchedulerOptions& options, WallTime now_ns) {
  return SchedulingPass(snapshot, options, now_ns).run();
}

}  // namespace assay::jobs
