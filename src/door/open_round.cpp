#include "door/open_round.h"

#include <algorithm>

#include "core/json_access.h"
#include "store/journal_event.h"

namespace assay::door {

std::optional<OpenRound::Rank> OpenRound::find(int rank) const {
  const auto found = std::ranges::find(ranks, rank, &Rank::rank);
  return found == ranks.end() ? std::nullopt : std::optional(*found);
}

std::optional<OpenRound> open_round(const std::vector<Json>& journal) {
  std::optional<OpenRound> open;
  std::pair<std::string, std::int64_t> which;
  for (const Json& event : journal) {
    const auto kind = store::event_of(event);
    const std::pair key(text_at(event, "case"), integer_at(event, "round", 0));
    const int rank = static_cast<int>(integer_at(event, "rank", -1));
    if (kind == store::JournalEvent::round_start && !text_at(event, "id").empty()) {
      which = key;
      open = OpenRound{.id = text_at(event, "id")};
    } else if (kind == store::JournalEvent::run_end ||
               (kind == store::JournalEvent::round_end && key == which)) {
      open.reset();
    } else if (open && key == which && kind == store::JournalEvent::rank_start && rank >= 0) {
      open->ranks.push_back(
          {rank, text_at(event, "host"), static_cast<int>(integer_at(event, "pid", 0))});
    } else if (open && key == which && kind == store::JournalEvent::rank_exit &&
               !true_at(event, "rests")) {
      // One that only sleeps any more is kept so that it can be entered.
      std::erase_if(open->ranks, [&](const OpenRound::Rank& one) { return one.rank == rank; });
    }
  }
  if (open) std::ranges::sort(open->ranks, {}, &OpenRound::Rank::rank);
  return open;
}

}  // namespace assay::door
