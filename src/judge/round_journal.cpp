#include "judge/round_journal.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/node_part.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "store/journal_records.h"

namespace assay::judge {

namespace {

// The number of a rank, node or round; 0 if it is impossible.
int small(int value) {
  return value >= 0 && value < (1 << 30) ? value : 0;
}

store::NodeName node_in(const Json& event) {
  store::NodeName name = store::node_of(event);
  name.node = small(name.node);
  return name;
}

std::optional<double> real(const Json& event, const char* key) {
  const auto value = number_at(event, key);
  return value && *value >= 0 ? value : std::nullopt;
}

// The time of an event on a service's own clock.
std::optional<Instant> service_time(std::optional<std::int64_t> ms) {
  constexpr std::int64_t kMax_ms = std::numeric_limits<std::int64_t>::max() / 1'000'000;
  if (!ms || *ms <= 0 || *ms > kMax_ms) return std::nullopt;
  return Instant{*ms * 1'000'000, *ms * 1'000'000};
}

RankEvidence& rank_of(RoundEvidence& round, const Json& event, int rank_number, int local_rank) {
  const int number = small(rank_number);
  const auto at = std::ranges::lower_bound(round.ranks, number, {}, &RankEvidence::rank);
  if (at != round.ranks.end() && at->rank == number) return *at;
  RankEvidence rank;
  rank.rank = number;
  rank.node = node_in(event).node;
  rank.local_rank = small(local_rank);
  return *round.ranks.insert(at, std::move(rank));
}

NodeEvidence& node_of(RoundEvidence& round, const store::NodeName& name) {
  const auto& [number, host] = name;
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

// Names in a node's list are relative to its folder. The list is not trusted: an item that is not a
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

// Of the parts that a node began; who came back so often is not believed.
int part_of(const Json& event) {
  constexpr std::int64_t kMostParts = 1000;
  return static_cast<int>(std::clamp<std::int64_t>(integer_at(event, "part", 1), 1, kMostParts));
}

RecordedChain& chain_of(RoundEvidence& round, int node, const std::string& host, int part) {
  std::vector<RecordedChain>& chains = round.integrity.recorded.chains;
  const auto at = std::ranges::lower_bound(
      chains, std::pair(node, part), {},
      [](const RecordedChain& chain) { return std::pair(chain.node, chain.part); });
  if (at != chains.end() && at->node == node && at->part == part) return *at;
  return *chains.insert(at, {node, host, {}, {}, part});
}

// Notes how far the node's wall clock is behind that of the controller, which received the message.
void compare_clocks(RoundEvidence& round, const Json& event) {
  const auto seen = integer_at(event, "seen_wall_ns");
  const auto sent = integer_at(event, "wall_ns");
  if (!seen || !sent) return;
  NodeEvidence& node = node_of(round, node_in(event));
  const double behind = (static_cast<double>(*seen) - static_cast<double>(*sent)) / 1e9;
  node.clock_behind_s = std::min(node.clock_behind_s.value_or(behind), behind);
}

// Offsets are kept by host rather than node, because a retry may run on other hosts.
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
  // Both clocks give the moment of the job's creation, so the record can use one clock. The request
  // itself may take up to a second.
  const auto created = time("service_created_ms", 1'000'000);
  constexpr std::int64_t kSame_ns = 1'000'000'000;
  constexpr std::int64_t kSensible_ns = 400'000 * kSame_ns;  // days; beyond it a time is invalid
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

void note_held_outputs(RoundEvidence& round, const Json& end) {
  const auto held = end.find("output_held");
  if (held == end.end() || !held->is_array()) return;
  for (const Json& number : *held)
    for (RankEvidence& rank : round.ranks)
      if (number.is_number_integer() && number == rank.rank) rank.output_held = true;
}

void add_start(RoundEvidence& round, const Json& event) {
  const auto start = fields_from_any<store::RankStart>(event);
  RankEvidence& rank = rank_of(round, event, start.rank, start.local_rank);
  rank.host = node_in(event).host;
  const auto begun = store::instant_of(event);
  rank.part = part_of(event);
  // It began with the first part, unless the machine was started again since.
  if (rank.part == 1 || !rank.start || !begun || begun->mono_ns < rank.start->mono_ns)
    rank.start = begun;
  if (rank.part > 1) {
    rank.end.reset();
    rank.exit.reset();
    rank.ended_by.reset();
    rank.output_bytes.reset();
    rank.seen_steps.reset();
  }
  if (start.bound) rank.bound = start.bound;
  if (start.late_s) {
    rank.learned = rank.start;
    rank.learned_late_s = std::max(*start.late_s, 0.0);
  }
  if (const auto by_service = service_time(start.service_ms)) {
    rank.start = by_service;
    rank.by_service = true;
  }
  node_of(round, {rank.node, rank.host});
}

void add_exit(RoundEvidence& round, const Json& event) {
  const auto exit = fields_from_any<store::RankExit>(event);
  RankEvidence& rank = rank_of(round, event, exit.rank, exit.local_rank.value_or(0));
  rank.end = store::instant_of(event);
  rank.end_late_s = std::max(exit.late_s.value_or(0), 0.0);
  if (exit.within_s) {
    rank.job_within_s = std::max(*exit.within_s, 0.0);
    rank.seen_end = rank.end;
  }
  if (const auto end = service_time(exit.service_ms))
    rank.end = end;
  else if (rank.by_service) {
    // Times on two clocks make no duration.
    rank.start = rank.learned;
    rank.by_service = false;
  }
  if (exit.ran_on) rank.ran_on = exit.ran_on;
  rank.ended_by = exit.ended_by.value;
  rank.dropped_bytes = exit.dropped_bytes.value_or(0);
  if (exit.log_bytes) rank.output_bytes = exit.log_bytes;
  if (exit.steps) rank.seen_steps = exit.steps;
  if (exit.code || exit.signal) rank.exit = ExitStatus{exit.code, exit.signal};
}

void add_end(RoundEvidence& round, const Json& event) {
  auto end = fields_from_any<store::RoundEnd>(event);
  round.end = store::instant_of(event);
  round.reason = std::move(end.reason);
  round.advice = std::move(end.advice);
  round.culprits = std::move(end.culprits);
  round.status = end.status.value.value_or(RoundStatus::interrupted);
  if (!end.status.value)
    round.reason = "the journal has an unknown status '" + end.status.text + "'";
}

void add_event(RoundEvidence& round, std::optional<store::JournalEvent> kind, const Json& event) {
  compare_clocks(round, event);
  if (kind == store::JournalEvent::rank_start) {
    add_start(round, event);
  } else if (kind == store::JournalEvent::rank_exit) {
    add_exit(round, event);
  } else if (kind == store::JournalEvent::node_end) {
    NodeEvidence& node = node_of(round, node_in(event));
    node.agent_cpu_s = real(event, "agent_cpu_s");
    node.killed_leftovers = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, integer_at(event, "killed_leftovers").value_or(0)));
    node.seen_processes = integer_at(event, "marked");
    note_held_outputs(round, event);
    const int part = part_of(event);
    add_list(round, event,
             layout::part_folder(layout::node_folder(node.host, node.node), part) + "/");
    chain_of(round, node.node, node.host, part).last = text_at(event, "head");
    node.machine = machine_use(round, node.node, event);
  } else if (kind == store::JournalEvent::chain) {
    const NodeEvidence& node = node_of(round, node_in(event));
    chain_of(round, node.node, node.host, part_of(event)).seen.push_back(text_at(event, "head"));
  } else if (kind == store::JournalEvent::node_away) {
    node_of(round, node_in(event)).away = true;
  } else if (kind == store::JournalEvent::node_again) {
    NodeEvidence& node = node_of(round, node_in(event));
    node.parts = part_of(event);
    node.away = false;
  } else if (kind == store::JournalEvent::round_files) {
    add_list(round, event, "");
    round.integrity.recorded.listed = true;
  } else if (kind == store::JournalEvent::caches) {
    NodeEvidence& node = node_of(round, node_in(event));
    node.caches_dropped = true_at(event, "done");
    node.caches_how = text_at(event, "how");
  } else if (kind == store::JournalEvent::gap) {
    round.gaps.push_back({node_in(event).node, text_at(event, "source"),
                          real(event, "seconds").value_or(0), text_at(event, "reason")});
  } else if (kind == store::JournalEvent::executed) {
    Json what = event;
    for (const char* key : {"event", "case", "round", "wall_ns", "mono_ns", "seen_wall_ns"})
      what.erase(key);
    round.executed.push_back(std::move(what));
  } else if (kind == store::JournalEvent::job_ended) {
    round.ais_job = ais_job(event);
  } else if (kind == store::JournalEvent::round_end) {
    add_end(round, event);
  }
}

}  // namespace

bool run_has_ended(const std::vector<Json>& events) {
  bool ended = false;
  for (const Json& event : events) {
    const auto kind = store::event_of(event);
    if (kind == store::JournalEvent::run_end) ended = true;
    if (store::starts_run(kind) || kind == store::JournalEvent::round_start ||
        kind == store::JournalEvent::round_reopened)
      ended = false;
  }
  return ended;
}

RoundJournal::RoundJournal(const std::vector<Json>& events) : run_ended_(run_has_ended(events)) {
  ClockOffsets offsets;
  std::map<std::pair<std::string, int>, ClockOffsets> offsets_of;  // as of the round's beginning
  std::map<std::pair<std::string, int>, std::string> jobs;         // the cloud job behind each
                                                                   // round
  std::set<std::pair<std::string, int>> reopened;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    const auto kind = store::event_of(event);
    if (kind == store::JournalEvent::clock_offset) {
      const auto ahead = number_at(event, "offset_s");
      const auto uncertainty = real(event, "uncertainty_s");
      if (ahead && uncertainty) offsets[text_at(event, "host")] = {*ahead, *uncertainty};
      continue;
    }
    const store::RoundName name = store::round_of(event);
    const int number = small(name.round);
    if (name.case_name.empty() || number < 1) continue;
    const auto key = std::pair(name.case_name, number);
    if (kind == store::JournalEvent::round_start) {
      RoundEvidence round;
      round.round = number;
      // A round without a round_end was interrupted.
      round.status = RoundStatus::interrupted;
      round.start = store::instant_of(event);
      const auto start = fields_from_any<store::RoundStart>(event);
      round.integrity.recorded.id = start.id;
      if (const auto before = rounds_.find(key); before != rounds_.end()) {
        round.earlier_attempts = before->second.earlier_attempts;
        // A cloud job that is still running is followed again: the same attempt.
        const bool same = !start.job.empty() && start.job == jobs[key] && !reopened.contains(key);
        if (!same) round.earlier_attempts.push_back(before->second.status);
      }
      jobs[key] = start.job;
      reopened.erase(key);
      for (const store::NodeName& node : start.nodes) node_of(round, {small(node.node), node.host});
      rounds_[key] = std::move(round);
      offsets_of[key] = offsets;
      continue;
    }
    if (kind == store::JournalEvent::round_reopened) reopened.insert(key);
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
  RoundEvidence evidence;
  evidence.round = round;
  if (const auto at = rounds_.find({case_name, round}); at != rounds_.end()) evidence = at->second;
  evidence.run_ended = run_ended_;
  return evidence;
}

}  // namespace assay::judge
