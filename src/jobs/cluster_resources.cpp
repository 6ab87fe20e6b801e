#include "jobs/cluster_resources.h"

#include <algorithm>
#include <tuple>

namespace assay::jobs {

Resources::Resources(const std::vector<ClusterNode>& nodes,
                     const std::vector<Reservation>& reservations, const std::vector<Team>& teams,
                     Nanoseconds grace, WallTime now_ns)
    : reservations_(reservations), grace_(grace), now_ns_(now_ns) {
  for (const Team& team : teams) teams_.emplace(team.name, &team);
  // By name, so that "any type" tries them in an order that does not depend on the nodes'.
  for (const ClusterNode& node : nodes) type_index_.emplace(node.device_type, 0);
  for (std::size_t next = 0; auto& [name, index] : type_index_) index = next++;
  types_.resize(type_index_.size());
  nodes_.reserve(nodes.size());
  for (const ClusterNode& node : nodes) {
    if (!node_index_.emplace(node.name, nodes_.size()).second) continue;  // named twice
    const std::size_t type_of_node = type_index_.at(node.device_type);
    const int devices = std::max(0, node.devices);
    Type& type = types_[type_of_node];
    type.nodes.push_back(nodes_.size());
    type.largest = std::max(type.largest, devices);
    type.by_free.resize(static_cast<std::size_t>(type.largest) + 1);
    if (node.available) ++type.by_free[static_cast<std::size_t>(devices)];
    nodes_.push_back({node.name, type_of_node, node.available, Profile(devices, now_ns)});
  }
  for (std::size_t i = 0; i < reservations.size(); ++i)
    for (const std::string& name : reservations[i].nodes)
      if (const auto found = node_index_.find(name); found != node_index_.end())
        nodes_[found->second].reservations.push_back(i);
}

std::int64_t Resources::length(const Request& request) const noexcept {
  return std::max<std::int64_t>(1, request.time.count()) + grace_.count();
}

WallTime Resources::end_of(WallTime start_ns, const Request& request) const noexcept {
  const std::int64_t occupied = length(request);
  return start_ns > kNever - occupied ? kNever : start_ns + occupied;
}

void Resources::occupy(const Occupant& occupant, const std::optional<Standing>& standing) {
  const Request& request = occupant.request;
  WallTime end_ns =
      occupant.stopped_by_ns != 0 ? occupant.stopped_by_ns : end_of(occupant.since_ns, request);
  // What should have ended and has not gets the time that stopping takes, again and again.
  if (end_ns <= now_ns_) end_ns = now_ns_ + std::max<std::int64_t>(1, grace_.count());
  const bool evictable = standing.has_value() && occupant.stopped_by_ns == 0;
  if (evictable) evictable_.emplace(request.id, &occupant);
  for (const NodeShare& share : occupant.placement) {
    const auto found = node_index_.find(share.node);
    if (found == node_index_.end()) continue;
    use(found->second, now_ns_, end_ns, share.devices);
    use_quotas(request, nodes_[found->second].type, now_ns_, end_ns, share.devices);
    if (!evictable) continue;
    // The lowest priority goes first, and of equals the one that has run for the shortest time.
    std::vector<Tenant>& tenants = nodes_[found->second].tenants;
    const Tenant tenant{request.id, share.devices, end_ns, *standing};
    tenants.insert(
        std::ranges::upper_bound(tenants, tenant,
                                 [](const Tenant& a, const Tenant& b) {
                                   return std::tuple(a.standing.priority, -a.end_ns, -a.id) <
                                          std::tuple(b.standing.priority, -b.end_ns, -b.id);
                                 }),
        tenant);
  }
}

void Resources::take(const Request& request, const Plan& plan) {
  const WallTime end_ns = end_of(plan.start_ns, request);
  for (const std::size_t node : plan.nodes) {
    const int devices = amount(request, nodes_[node]);
    use(node, plan.start_ns, end_ns, devices);
    use_quotas(request, nodes_[node].type, plan.start_ns, end_ns, devices);
  }
}

Placement Resources::placement(const Request& request, const Plan& plan) const {
  Placement out;
  for (const std::size_t node : plan.nodes)
    out.push_back({nodes_[node].name, amount(request, nodes_[node])});
  return out;
}

std::vector<std::size_t> Resources::types_for(const Request& request) const {
  std::vector<std::size_t> out;
  for (const auto& [name, index] : type_index_)
    if (request.device_type.empty() || request.device_type == name) out.push_back(index);
  return out;
}

int Resources::amount(const Request& request, const Node& node) noexcept {
  return request.whole_nodes ? node.profile.capacity() : request.devices;
}

int Resources::total(const Request& request, std::size_t type) const noexcept {
  // Nodes of one type may differ in size: quotas count the largest.
  return request.nodes *
         (request.whole_nodes ? std::max(types_[type].largest, request.devices) : request.devices);
}

const Reservation* Resources::in_the_way(const Request& request, const Node& node, WallTime from_ns,
                                         WallTime to_ns) const {
  for (const std::size_t i : node.reservations) {
    const Reservation& reservation = reservations_[i];
    if (reservation.from_ns >= to_ns || reservation.to_ns <= from_ns) continue;
    if (std::ranges::find(reservation.teams, request.team) == reservation.teams.end())
      return &reservation;
  }
  return nullptr;
}

bool Resources::fits(const Request& request, const Node& node, WallTime start_ns) const {
  if (!node.available || node.profile.capacity() < request.devices) return false;
  const WallTime end_ns = end_of(start_ns, request);
  return node.profile.least_free(start_ns, end_ns) >= amount(request, node) &&
         in_the_way(request, node, start_ns, end_ns) == nullptr;
}

std::vector<std::size_t> Resources::best_fit(const Request& request, std::size_t type,
                                             WallTime start_ns) const {
  std::vector<std::pair<int, std::size_t>> found;  // what is free then, and the node
  for (const std::size_t node : types_[type].nodes)
    if (fits(request, nodes_[node], start_ns))
      found.emplace_back(nodes_[node].profile.least_free(start_ns, start_ns + 1), node);
  const auto wanted = static_cast<std::size_t>(request.nodes);
  if (found.size() < wanted) return {};
  std::ranges::partial_sort(found, found.begin() + request.nodes);
  std::vector<std::size_t> out(wanted);
  std::ranges::transform(found.begin(), found.begin() + request.nodes, out.begin(),
                         &std::pair<int, std::size_t>::second);
  std::ranges::sort(out);
  return out;
}

std::optional<Resources::Plan> Resources::start_now(const Request& request) const {
  for (const std::size_t type : types_for(request)) {
    // Most jobs of a long line end here.
    int nodes = 0;
    for (auto free = static_cast<std::size_t>(request.devices); free < types_[type].by_free.size();
         ++free)
      nodes += types_[type].by_free[free];
    if (nodes < request.nodes || exceeded(request, type, now_ns_)) continue;
    Plan plan{now_ns_, best_fit(request, type, now_ns_)};
    if (!plan.nodes.empty()) return plan;
  }
  return std::nullopt;
}

std::optional<Resources::Plan> Resources::earliest(const Request& request) const {
  std::optional<Plan> best;
  for (const std::size_t type : types_for(request))
    if (auto plan = earliest(request, type); plan && (!best || plan->start_ns < best->start_ns))
      best = std::move(plan);
  return best;
}

std::optional<Resources::Plan> Resources::earliest(const Request& request, std::size_t type) const {
  // From when to when a start is possible, for every node and every quota: swept by time.
  struct Edge {
    WallTime at_ns;
    int nodes;
    int quotas;
  };
  std::vector<Edge> edges;
  const std::int64_t length_ns = length(request);
  const auto spans = [&](const Profile& profile, int wanted, int node, int quota) {
    profile.starts(wanted, length_ns, [&](WallTime first_ns, WallTime last_ns) {
      edges.push_back({first_ns, node, quota});
      if (last_ns != kNever) edges.push_back({last_ns + 1, -node, -quota});
    });
  };
  int wanted_quotas = 0;
  for (const Limit& limit : limits(request, type)) {
    if (total(request, type) > limit.limit) return std::nullopt;
    const Profile* profile = quota(limit.key);
    if (profile == nullptr) continue;  // nobody uses it yet
    ++wanted_quotas;
    spans(*profile, total(request, type), 0, 1);
  }
  for (const std::size_t index : types_[type].nodes) {
    const Node& node = nodes_[index];
    if (!node.available || node.profile.capacity() < request.devices) continue;
    if (node.reservations.empty()) {
      spans(node.profile, amount(request, node), 1, 0);
      continue;
    }
    Profile with_reservations = node.profile;
    for (const std::size_t i : node.reservations)
      if (std::ranges::find(reservations_[i].teams, request.team) == reservations_[i].teams.end())
        with_reservations.use(reservations_[i].from_ns, reservations_[i].to_ns,
                              node.profile.capacity());
    spans(with_reservations, amount(request, node), 1, 0);
  }
  std::ranges::sort(edges, {}, &Edge::at_ns);
  int nodes = 0;
  int quotas = 0;
  for (std::size_t i = 0; i < edges.size();) {
    const WallTime at_ns = edges[i].at_ns;
    for (; i < edges.size() && edges[i].at_ns == at_ns; ++i) {
      nodes += edges[i].nodes;
      quotas += edges[i].quotas;
    }
    if (nodes < request.nodes || quotas < wanted_quotas) continue;
    Plan plan{at_ns, best_fit(request, type, at_ns)};
    if (!plan.nodes.empty()) return plan;
  }
  return std::nullopt;
}

std::vector<Resources::Supply> Resources::supplies(const Request& request) const {
  std::vector<Supply> out;
  for (const std::size_t type : types_for(request)) {
    Supply& supply = out.emplace_back();
    supply.excess = exceeded(request, type, now_ns_);
    for (const std::size_t index : types_[type].nodes) {
      const Node& node = nodes_[index];
      if (node.profile.capacity() < request.devices) continue;
      ++supply.large_enough;
      if (!node.available) continue;
      ++supply.available;
      if (node.profile.free_now() < amount(request, node)) continue;
      ++supply.free;
      if (node.reservations.empty() || !supply.reserved.empty()) continue;
      if (const Reservation* reservation =
              in_the_way(request, node, now_ns_, end_of(now_ns_, request)))
        supply.reserved = reservation->name;
    }
  }
  return out;
}

std::vector<Resources::Limit> Resources::limits(const Request& request, std::size_t type) const {
  std::vector<Limit> out;
  const auto team = teams_.find(request.team);
  if (team == teams_.end()) return out;
  const auto add = [&](const std::map<std::string, int>& quota, PendingKind kind,
                       const std::string& user) {
    for (const auto& [name, limit] : quota)
      if (const auto found = type_index_.find(name);
          found != type_index_.end() && found->second == type)
        out.push_back({kind, {request.team, user, type}, limit});
  };
  add(team->second->quota, PendingKind::team_quota, {});
  add(team->second->user_quota, PendingKind::user_quota, request.user);
  return out;
}

const Profile* Resources::quota(const QuotaKey& key) const {
  const auto found = quotas_.find(key);
  return found == quotas_.end() ? nullptr : &found->second;
}

std::optional<Resources::Excess> Resources::exceeded(const Request& request, std::size_t type,
                                                     WallTime start_ns) const {
  std::optional<Excess> now;
  const int asked = total(request, type);
  for (const Limit& limit : limits(request, type)) {
    const Profile* profile = quota(limit.key);
    const int used = profile == nullptr ? 0 : profile->used_now();
    if (asked > limit.limit) return Excess{limit.kind, asked, limit.limit, used};
    if (!now && profile != nullptr &&
        profile->least_free(start_ns, end_of(start_ns, request)) < asked)
      now = Excess{limit.kind, asked, limit.limit, used};
  }
  return now;
}

void Resources::use(std::size_t index, WallTime from_ns, WallTime to_ns, int devices) {
  Node& node = nodes_[index];
  std::vector<int>& by_free = types_[node.type].by_free;
  // More may be used than there is, where a node has come back smaller.
  const auto free = [&] { return static_cast<std::size_t>(std::max(0, node.profile.free_now())); };
  if (node.available) --by_free[free()];
  node.profile.use(from_ns, to_ns, devices);
  if (node.available) ++by_free[free()];
}

void Resources::use_quotas(const Request& request, std::size_t type, WallTime from_ns,
                           WallTime to_ns, int devices) {
  for (const Limit& limit : limits(request, type))
    quotas_.try_emplace(limit.key, limit.limit, now_ns_).first->second.use(from_ns, to_ns, devices);
}

std::optional<Resources::Eviction> Resources::evict(const Request& request,
                                                    const Standing& standing) {
  if (evictable_.empty()) return std::nullopt;
  for (const std::size_t type : types_for(request)) {
    auto eviction = evict(request, standing, type);
    if (!eviction) continue;
    for (const JobId victim : eviction->victims) release(victim, eviction->plan.start_ns);
    return eviction;
  }
  return std::nullopt;
}

std::optional<Resources::Eviction> Resources::evict(const Request& request,
                                                    const Standing& standing,
                                                    std::size_t type) const {
  // Even without a grace, what runs now is not gone now.
  const WallTime start_ns = now_ns_ + std::max<std::int64_t>(1, grace_.count());
  const WallTime end_ns = end_of(start_ns, request);
  if (exceeded(request, type, start_ns)) return std::nullopt;
  struct Offer {
    int devices;  // that have to be taken from others
    std::size_t node;
    std::vector<JobId> victims;
  };
  std::vector<Offer> offers;
  for (const std::size_t index : types_[type].nodes) {
    const Node& node = nodes_[index];
    if (!node.available || node.profile.capacity() < request.devices ||
        in_the_way(request, node, start_ns, end_ns) != nullptr)
      continue;
    Offer offer{0, index, {}};
    const int wanted = amount(request, node);
    bool fits = node.profile.least_free(start_ns, end_ns) >= wanted;
    if (!fits && !node.tenants.empty()) {
      Profile without = node.profile;
      for (const Tenant& tenant : node.tenants) {
        if (fits) break;
        if (!tenant.standing.yields_to(standing)) continue;
        without.use(start_ns, tenant.end_ns, -tenant.devices);
        offer.devices += tenant.devices;
        offer.victims.push_back(tenant.id);
        fits = without.least_free(start_ns, end_ns) >= wanted;
      }
    }
    if (fits) offers.push_back(std::move(offer));
  }
  const auto wanted = static_cast<std::size_t>(request.nodes);
  if (offers.size() < wanted) return std::nullopt;
  std::ranges::stable_sort(offers, {}, &Offer::devices);
  Eviction out{{}, {start_ns, {}}};
  for (std::size_t i = 0; i < wanted; ++i) {
    out.plan.nodes.push_back(offers[i].node);
    out.victims.insert(out.victims.end(), offers[i].victims.begin(), offers[i].victims.end());
  }
  std::ranges::sort(out.plan.nodes);
  std::ranges::sort(out.victims);
  out.victims.erase(std::ranges::unique(out.victims).begin(), out.victims.end());
  return out;
}

void Resources::release(JobId victim, WallTime by_ns) {
  const auto found = evictable_.find(victim);
  if (found == evictable_.end()) return;
  const Occupant& occupant = *found->second;
  for (const NodeShare& share : occupant.placement) {
    const auto index = node_index_.find(share.node);
    if (index == node_index_.end()) continue;
    Node& node = nodes_[index->second];
    const auto tenant = std::ranges::find(node.tenants, victim, &Tenant::id);
    if (tenant == node.tenants.end()) continue;
    use(index->second, by_ns, tenant->end_ns, -tenant->devices);
    use_quotas(occupant.request, node.type, by_ns, tenant->end_ns, -tenant->devices);
    node.tenants.erase(tenant);
  }
  evictable_.erase(found);
}

}  // namespace assay::jobs
