// Nodes that come back to their round: the part of RoundMachine for ranks that do not need each
// other.
#include <algorithm>

#include <fmt/format.h>

#include "core/node_part.h"
#include "core/units.h"
#include "launch/agents/round_machine.h"

namespace assay::launch {

namespace {

// A link that fails for a moment is there again soon; a machine that is repaired takes hours, and
// to ask it costs a connection.
constexpr std::int64_t kReturnPause = 5'000'000'000;
constexpr std::int64_t kLongestReturnPause = 60'000'000'000;
constexpr int kReturnTries = 240;
// Ranks that lived so long can do their work: what ended them may pass.
constexpr std::int64_t kProven = 30'000'000'000;

// The n-th, from 0.
std::int64_t pause_before(int n) {
  return std::min(kReturnPause << std::min(n, 10), kLongestReturnPause);
}

}  // namespace

std::string RoundMachine::part_id(int node) const {
  return layout::part_id(setup_.id, part(node));
}

bool RoundMachine::waits_for(const Node& node) const {
  return phase_ == Phase::running && (node.again_ns || node.coming) &&
         node.away_ns - node.begun_ns >= kProven;
}

void RoundMachine::await_return(std::int64_t now_ns, int node, const std::string& reason,
                                Actions& actions) {
  Node& gone = node_at(node);
  if (!setup_.independent_ranks || setup_.returns == 0 || phase_ != Phase::running) return;
  gone.away_ns = now_ns;
  gone.tries = 0;
  if (gone.leaving) actions.drop.push_back(node);
  actions.journal.push_back({store::JournalEvent::node_away,
                             node,
                             {{"part", gone.part},
                              {"reason", reason},
                              {"silent_s", static_cast<double>(now_ns - gone.heard_ns) * 1e-9},
                              {"comes_back", gone.part <= setup_.returns}}});
  // One that is lost again and again is left alone for longer each time.
  if (gone.part <= setup_.returns) gone.again_ns = now_ns + pause_before(gone.part - 1);
}

void RoundMachine::bring_back(std::int64_t now_ns, Actions& actions) {
  if (phase_ != Phase::running) return;
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    Node& gone = node_at(node);
    if (!gone.again_ns || now_ns < *gone.again_ns) continue;
    gone.again_ns.reset();
    gone.coming = true;
    actions.bring_back.push_back(node);
  }
}

RoundMachine::Actions RoundMachine::came_back(std::int64_t now_ns, int node) {
  Actions actions;
  Node& gone = node_at(node);
  if (!gone.coming) return actions;
  const bool wanted = phase_ == Phase::running && !over();
  gone.coming = false;
  if (!wanted) return actions;
  actions.journal.push_back({store::JournalEvent::node_again,
                             node,
                             {{"part", gone.part + 1},
                              {"away_s", static_cast<double>(now_ns - gone.away_ns) * 1e-9},
                              {"tries", gone.tries + 1}}});
  actions.begin.push_back(node);
  // All of them have ended, or count as such.
  progress_.started -= gone.started;
  progress_.ended -= gone.started;
  Node fresh;
  fresh.part = gone.part + 1;
  fresh.files = std::move(gone.files);
  fresh.heard_ns = fresh.begun_ns = now_ns;
  gone = std::move(fresh);
  return actions;
}

RoundMachine::Actions RoundMachine::not_back(std::int64_t now_ns, int node,
                                             const std::string& reason) {
  Actions actions;
  Node& gone = node_at(node);
  if (!std::exchange(gone.coming, false) || phase_ != Phase::running) return actions;
  if (++gone.tries < kReturnTries) {
    gone.again_ns = now_ns + pause_before(gone.part - 1 + gone.tries);
    return actions;
  }
  actions.journal.push_back({store::JournalEvent::node_given_up,
                             node,
                             {{"part", gone.part}, {"tries", gone.tries}, {"reason", reason}}});
  return actions;
}

}  // namespace assay::launch
