#include "judge/round_journal.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "store/journal_event.h"

namespace assay::judge {

namespace {

int small(const Json& event, const char* key, int fallback) {
  const auto value = integer_at(event, key);
  return value && *value >= 0 && *value < (1 << 30) ? static_cast<int>(*value) : fallback;
}

std::optional<double> real(const Json& event, const char* key) {
  const auto value = number_at(event, key);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<Instant> instant(const Json& event) {
  // No clock says more; the difference of two of them fits into 64 bits.
  constexpr std::int64_t kMaxTime = std::int64_t{1} << 62;
  const auto mono = integer_at(event, "mono_ns");
  const auto wall = integer_at(event, "wall_ns");
  if (!mono || !wall || *mono < 0 || *wall < 0 || *mono > kMaxTime || *wall > kMaxTime)
    return std::nullopt;
  return Instant{*mono, *wall};
}

// When a service says that it happened, on its own clock.
std::optional<Instant> service_time(const Json& event) {
  constexpr std::int64_t kMax_ms = std::numeric_limits<std::int64_t>::max() / 1'000'000;
  const auto ms = integer_at(event, "service_ms");
  if (!ms || *ms <= 0 || *ms > kMax_ms) return std::nullopt;
  return Instant{*ms * 1'000'000, *ms * 1'000'000};
}

RankEvidence& rank_of(RoundEvidence& round, const Json& event) {
  const int number = small(event, "rank", 0);
  const auto at = std::ranges::lower_bound(round.ranks, number, {}, &RankEvidence::rank);
  if (at != round.ranks.end() && at->rank == number) return *at;
  RankEvidence rank;
  rank.rank = number;
  rank.node = small(event, "node", 0);
  rank.local_rank = small(event, "local_rank", 0);
  return *round.ranks.insert(at, std::move(rank));
}

NodeEvidence& node_of(RoundEvidence& round, int number, const std::string& host) {
  const auto at = std::ranges::lower_bound(round.nodes, number, {}, &NodeEvidence::node);
  if (at != round.nodes.end() && at->node == number) {
    if (at->host.empty()) at->host = host;
    return *at;
  }
  NodeEvidence node;
  node.node = number;
  node.host = host;
  return *round.nodes.insert(at, std::move(node));
}

// Names in a node's list are relative to its folder. Nothing in it is trusted: what cannot be a
// record becomes one that fits no file.
void add_list(RoundEvidence& round, const Json& event, const std::string& folder) {
  const auto files = event.find("files");
  if (files == event.end() || !files->is_array()) return;
  for (const Json& file : *files) {
    const auto count = [&](const char* key) {
      return static_cast<std::uint64_t>(
          std::max<std::int64_t>(0, integer_at(file, key).value_or(0)));
    };
    round.integrity.recorded.files.push_back(
        {folder + text_at(file, "name"), count("bytes"), count("lines"), text_at(file, "sha256")});
  }
}

RecordedChain& chain_of(RoundEvidence& round, int node, const std::string& host) {
  std::vector<RecordedChain>& chains = round.integrity.recorded.chains;
  const auto at = std::ranges::lower_bound(chains, node, {}, &RecordedChain::node);
  if (at != chains.end() && at->node == node) return *at;
  return *chains.insert(at, {node, host, {}, {}});
}

// Notes how far the node's wall clock is behind that of the controller, which saw the message.
void compare_clocks(RoundEvidence& round, const Json& event) {
  const auto seen = integer_at(event, "seen_wall_ns");
  const auto sent = integer_at(event, "wall_ns");
  if (!seen || !sent) return;
  NodeEvidence& node = node_of(round, small(event, "node", 0), text_at(event, "host"));
  const double behind = (static_cast<double>(*seen) - static_cast<double>(*sent)) / 1e9;
  node.clock_behind_s = std::min(node.clock_behind_s.value_or(behind), behind);
}

// Offsets are kept by host, not by node: a retry may run on other hosts.
struct MeasuredClock {
  double ahead_s = 0;
  double uncertainty_s = 0;
};
using ClockOffsets = std::map<std::string, MeasuredClock>;

// Times are on the wall clock of the machine that followed the job, except the service's own.
AisJobEvidence ais_job(const Json& event) {
  const auto time = [&](const char* key, std::int64_t scale) -> std::optional<std::int64_t> {
    const auto value = integer_at(event, key);
    return value && *value > 0 ? std::optional(*value * scale) : std::nullopt;
  };
  AisJobEvidence job;
  job.total = {time("upload_start_ns", 1), time("wall_ns", 1)};
  job.prepare = {job.total.start_ns, time("created_ns", 1)};
  if (const auto start = time("started_ms", 1'000'000))
    job.proc = {start, *start + time("duration_ms", 1'000'000).value_or(0)};
  // The job was created at one moment that both clocks tell: the record has one clock. A second is
  // what the request itself may take.
  const auto created = time("service_created_ms", 1'000'000);
  constexpr std::int64_t kSame_ns = 1'000'000'000;
  constexpr std::int64_t kSensible_ns =
      400'000 * kSame_ns;  // days; beyond it one is no time at all
  if (created && job.prepare.end_ns && job.proc.start_ns) {
    const std::int64_t ahead = *job.prepare.end_ns - *created;
    if (std::abs(ahead) > kSame_ns && std::abs(ahead) < kSensible_ns) {
      job.moved_ns = ahead;
      *job.proc.start_ns += ahead;
      *job.proc.end_ns += ahead;
    }
  }
  job.device_util_percent = real(event, "device_util_percent");
  return job;
}

std::optional<telemetry::MachineUse> machine_use(RoundEvidence& round, int node, const Json& end) {
  const auto machine = end.find("machine");
  if (machine == end.end()) return std::nullopt;
  try {
    return fields_from_json<telemetry::MachineUse>(*machine, "machine");
  } catch (const Error& error) {
    round.problems.push_back(
        fmt::format("{}: node_end of node {}: {}", layout::kJournal, node, error.what()));
    return std::nullopt;
  }
}

void add_event(RoundEvidence& round, std::optional<store::JournalEvent> kind, const Json& event) {
  compare_clocks(round, event);
  if (kind == store::JournalEvent::rank_start) {
    RankEvidence& rank = rank_of(round, event);
    rank.host = text_at(event, "host");
    rank.start = instant(event);
    if (event.contains("bound")) rank.bound = CpuSet::parse(text_at(event, "bound"));
    if (event.contains("late_s")) {
      rank.learned = rank.start;
      rank.learned_late_s = real(event, "late_s").value_or(0);
    }
    if (const auto start = service_time(event)) {
      rank.start = start;
      rank.by_service = true;
    }
    node_of(round, rank.node, rank.host);
  } else if (kind == store::JournalEvent::rank_exit) {
    RankEvidence& rank = rank_of(round, event);
    rank.end = instant(event);
    rank.end_late_s = real(event, "late_s").value_or(0);
    if (const auto end = service_time(event))
      rank.end = end;
    else if (rank.by_service) {
      // Two clocks make no duration.
      rank.start = rank.learned;
      rank.by_service = false;
    }
    if (event.contains("ran_on")) rank.ran_on = CpuSet::parse(text_at(event, "ran_on"));
    rank.ended_by = parse_enum<EndedBy>(text_at(event, "ended_by"));
    rank.dropped_bytes = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, integer_at(event, "dropped_bytes").value_or(0)));
    if (const auto bytes = integer_at(event, "log_bytes"); bytes && *bytes >= 0)
      rank.output_bytes = static_cast<std::uint64_t>(*bytes);
    if (const auto steps = integer_at(event, "steps"); steps && *steps >= 0)
      rank.seen_steps = static_cast<std::uint64_t>(*steps);
    ExitStatus exit;
    if (const auto code = integer_at(event, "code")) exit.code = static_cast<int>(*code);
    if (const auto signal = integer_at(event, "signal")) exit.signal = static_cast<int>(*signal);
    if (exit.code || exit.signal) rank.exit = exit;
  } else if (kind == store::JournalEvent::node_end) {
    NodeEvidence& node = node_of(round, small(event, "node", 0), text_at(event, "host"));
    node.agent_cpu_s = real(event, "agent_cpu_s");
    node.killed_leftovers = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, integer_at(event, "killed_leftovers").value_or(0)));
    add_list(round, event, layout::node_folder(node.host, node.node) + "/");
    chain_of(round, node.node, node.host).last = text_at(event, "head");
    node.machine = machine_use(round, node.node, event);
  } else if (kind == store::JournalEvent::chain) {
    const NodeEvidence& node = node_of(round, small(event, "node", 0), text_at(event, "host"));
    chain_of(round, node.node, node.host).seen.push_back(text_at(event, "head"));
  } else if (kind == store::JournalEvent::round_files) {
    add_list(round, event, "");
    round.integrity.recorded.listed = true;
  } else if (kind == store::JournalEvent::caches) {
    NodeEvidence& node = node_of(round, small(event, "node", 0), text_at(event, "host"));
    node.caches_dropped = true_at(event, "done");
    node.caches_how = text_at(event, "how");
  } else if (kind == store::JournalEvent::gap) {
    round.gaps.push_back({small(event, "node", 0), text_at(event, "source"),
                          real(event, "seconds").value_or(0), text_at(event, "reason")});
  } else if (kind == store::JournalEvent::executed) {
    Json what = event;
    for (const char* key : {"event", "case", "round", "wall_ns", "mono_ns", "seen_wall_ns"})
      what.erase(key);
    round.executed.push_back(std::move(what));
  } else if (kind == store::JournalEvent::job_ended) {
    round.ais_job = ais_job(event);
  } else if (kind == store::JournalEvent::round_end) {
    round.end = instant(event);
    round.reason = text_at(event, "reason");
    round.advice = text_at(event, "advice");
    round.culprits.clear();
    for (const Json& rank : list_at(event, "culprits"))
      if (rank.is_number_integer()) round.culprits.push_back(rank.get<int>());
    const std::string status = text_at(event, "status");
    const auto known = parse_enum<RoundStatus>(status);
    round.status = known.value_or(RoundStatus::interrupted);
    if (!known) round.reason = "the journal has an unknown status '" + status + "'";
  }
}

}  // namespace

RoundJournal::RoundJournal(const std::vector<Json>& events) {
  ClockOffsets offsets;
  std::map<std::pair<std::string, int>, ClockOffsets> offsets_of;  // when the round began
  std::map<std::pair<std::string, int>, std::vector<std::string>> reopened;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    const auto kind = store::event_of(event);
    if (kind == store::JournalEvent::clock_offset) {
      const auto ahead = number_at(event, "offset_s");
      const auto uncertainty = real(event, "uncertainty_s");
      if (ahead && uncertainty) offsets[text_at(event, "host")] = {*ahead, *uncertainty};
      continue;
    }
    const std::string name = text_at(event, "case");
    const int number = small(event, "round", 0);
    if (name.empty() || number < 1) continue;
    const auto key = std::pair(name, number);
    if (kind == store::JournalEvent::round_start) {
      RoundEvidence round;
      round.round = number;
      // A round without a round_end was interrupted.
      round.status = RoundStatus::interrupted;
      round.start = instant(event);
      round.integrity.recorded.id = text_at(event, "id");
      round.earlier_failures = reopened[key];
      if (const auto nodes = event.find("nodes"); nodes != event.end() && nodes->is_array())
        for (const Json& node : *nodes)
          if (node.is_object()) node_of(round, small(node, "node", 0), text_at(node, "host"));
      rounds_[key] = std::move(round);
      offsets_of[key] = offsets;
      continue;
    }
    if (kind == store::JournalEvent::round_reopened)
      reopened[key].push_back(text_at(event, "status"));
    const auto at = rounds_.find(key);
    if (at != rounds_.end()) add_event(at->second, kind, event);
  }
  for (auto& [key, round] : rounds_)
    for (NodeEvidence& node : round.nodes) {
      const auto known = offsets_of[key].find(node.host);
      if (known == offsets_of[key].end()) continue;
      node.clock_measured_s = -known->second.ahead_s;
      node.clock_uncertainty_s = known->second.uncertainty_s;
    }
}

int RoundJournal::last_round(const std::string& case_name) const {
  int last = 0;
  for (const auto& [key, round] : rounds_)
    if (key.first == case_name) last = std::max(last, key.second);
  return last;
}

RoundEvidence RoundJournal::round(const std::string& case_name, int round) const {
  const auto at = rounds_.find({case_name, round});
  if (at != rounds_.end()) return at->second;
  RoundEvidence evidence;
  evidence.round = round;
  return evidence;
}

}  // namespace assay::judge
