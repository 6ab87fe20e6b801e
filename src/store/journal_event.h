#pragma once

#include <array>
#include <optional>

#include "core/enum_names.h"
#include "core/json.h"

namespace assay::store {

/// The event in a line of a run's journal; docs/run-directory.md has the fields of each.
enum class JournalEvent {
  run_start,
  run_resume,
  run_files,
  run_unproven,
  run_unsigned,
  run_unsealed,
  agent_start,
  clock_offset,
  programs_shared,
  host_left_out,
  round_start,
  executed,
  caches,
  rank_start,
  rank_exit,
  rest,
  node_away,
  node_again,
  node_given_up,
  unkillable,
  gap,
  chain,
  node_end,
  collected,
  round_files,
  uploaded,
  job_created,
  job_stopped,
  fetched,
  job_ended,
  round_end,
  round_retry,
  round_reopened,
  case_skipped,
  repeats_end,
  run_end,
};

constexpr auto enum_names(JournalEvent) {
  using enum JournalEvent;
  return std::to_array<EnumName<JournalEvent>>({
      {run_start, "run_start"},
      {run_resume, "run_resume"},
      {run_files, "run_files"},
      {run_unproven, "run_unproven"},
      {run_unsigned, "run_unsigned"},
      {run_unsealed, "run_unsealed"},
      {agent_start, "agent_start"},
      {clock_offset, "clock_offset"},
      {programs_shared, "programs_shared"},
      {host_left_out, "host_left_out"},
      {round_start, "round_start"},
      {executed, "executed"},
      {caches, "caches"},
      {rank_start, "rank_start"},
      {rank_exit, "rank_exit"},
      {rest, "rest"},
      {node_away, "node_away"},
      {node_again, "node_again"},
      {node_given_up, "node_given_up"},
      {unkillable, "unkillable"},
      {gap, "gap"},
      {chain, "chain"},
      {node_end, "node_end"},
      {collected, "collected"},
      {round_files, "round_files"},
      {uploaded, "uploaded"},
      {job_created, "job_created"},
      {job_stopped, "job_stopped"},
      {fetched, "fetched"},
      {job_ended, "job_ended"},
      {round_end, "round_end"},
      {round_retry, "round_retry"},
      {round_reopened, "round_reopened"},
      {case_skipped, "case_skipped"},
      {repeats_end, "repeats_end"},
      {run_end, "run_end"},
  });
}

/// Nothing for a line that is not an event, or is another version's.
[[nodiscard]] std::optional<JournalEvent> event_of(const Json& line);

}  // namespace assay::store
