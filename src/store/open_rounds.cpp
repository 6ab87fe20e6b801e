#include "store/open_rounds.h"

#include <algorithm>

namespace assay::store {

namespace {

OpenRound begun(RoundName name, const RoundStart& start) {
  OpenRound round{.name = std::move(name), .id = start.id};
  for (const NodeName& node : start.nodes) round.hosts.push_back(node.host);
  round.hook = round.id.empty();
  if (round.hook) round.id = start.processes;
  return round;
}

auto place_of(OpenRound& round, int rank) {
  return std::ranges::lower_bound(round.ranks, rank, {}, &OpenRound::Rank::rank);
}

void add_rank(OpenRound& round, const Json& line) {
  const auto start = fields_from_any<RankStart>(line);
  OpenRound::Rank rank{start.rank, node_of(line).host, start.pid.value_or(0)};
  const auto at = place_of(round, start.rank);
  if (at != round.ranks.end() && at->rank == start.rank)
    *at = std::move(rank);
  else
    round.ranks.insert(at, std::move(rank));
}

void remove_rank(OpenRound& round, const Json& line) {
  const auto exit = fields_from_any<RankExit>(line);
  const auto at = place_of(round, exit.rank);
  if (!exit.rests.value_or(false) && at != round.ranks.end() && at->rank == exit.rank)
    round.ranks.erase(at);
}

}  // namespace

std::optional<OpenRound::Rank> OpenRound::find(int rank) const {
  const auto found = std::ranges::find(ranks, rank, &Rank::rank);
  return found == ranks.end() ? std::nullopt : std::optional(*found);
}

std::vector<OpenRound> open_rounds(const std::vector<Json>& journal) {
  std::vector<OpenRound> open;
  for (const Json& line : journal) {
    const auto kind = event_of(line);
    if (starts_run(kind) || kind == JournalEvent::run_end)
      for (OpenRound& round : open) round.now = false;
    if (kind != JournalEvent::round_start && kind != JournalEvent::round_end &&
        kind != JournalEvent::rank_start && kind != JournalEvent::rank_exit)
      continue;
    RoundName name = round_of(line);
    const auto known = std::ranges::find(open, name, &OpenRound::name);
    if (kind == JournalEvent::round_start) {
      // The round was begun again, after the earlier attempt's leftovers were swept.
      if (known != open.end()) open.erase(known);
      OpenRound round = begun(std::move(name), fields_from_any<RoundStart>(line));
      if (!round.id.empty()) open.push_back(std::move(round));
    } else if (known != open.end()) {
      if (kind == JournalEvent::round_end) open.erase(known);
      if (kind == JournalEvent::rank_start) add_rank(*known, line);
      if (kind == JournalEvent::rank_exit) remove_rank(*known, line);
    }
  }
  return open;
}

std::optional<OpenRound> running_round(const std::vector<Json>& journal) {
  std::vector<OpenRound> open = open_rounds(journal);
  std::erase_if(open, [](const OpenRound& round) { return round.hook || !round.now; });
  return open.empty() ? std::nullopt : std::optional(std::move(open.back()));
}

}  // namespace assay::store
