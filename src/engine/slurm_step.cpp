#include "engine/slurm_step.h"

namespace assay::engine {

namespace {

using Controller = SlurmFacts::Controller;
using InSlurm = SlurmFacts::InSlurm;

bool over_in_slurm(const SlurmFacts& facts) {
  return facts.in_slurm == InSlurm::absent || facts.in_slurm == InSlurm::ended;
}

SlurmMove next_of_recalled(const SlurmFacts& facts) {
  if (facts.controller == Controller::begun) {
    if (facts.lives || facts.in_slurm == InSlurm::active) return SlurmMove::say_found;
    return facts.has_end || over_in_slurm(facts) ? SlurmMove::finish : SlurmMove::wait;
  }
  if (facts.in_slurm == InSlurm::unknown) return SlurmMove::wait;
  return facts.in_slurm == InSlurm::active ? SlurmMove::adopt : SlurmMove::call_off;
}

SlurmMove next_before_it_begins(SlurmPhase phase, const SlurmFacts& facts) {
  if (facts.controller == Controller::begun) return SlurmMove::say_started;
  if (facts.stopped) return SlurmMove::call_off;
  if (facts.in_slurm == InSlurm::unknown) return SlurmMove::wait;
  if (phase == SlurmPhase::unsure) {
    if (facts.in_slurm == InSlurm::active) return SlurmMove::adopt;
    return facts.in_slurm == InSlurm::absent ? SlurmMove::submit : SlurmMove::call_off;
  }
  return facts.in_slurm == InSlurm::active ? SlurmMove::wait : SlurmMove::call_off;
}

SlurmMove next_of_running(const SlurmFacts& facts) {
  if (facts.lives) return facts.long_gone ? SlurmMove::finish : SlurmMove::wait;
  // Why it was cut short is Slurm's to say, as long as that answers: a rank may have died of
  // Slurm's signal before its controller had the same signal.
  if (facts.has_end && (facts.completed || facts.stopped || facts.in_slurm == InSlurm::unknown))
    return SlurmMove::finish;
  return over_in_slurm(facts) ? SlurmMove::finish : SlurmMove::wait;
}

jobs::Event of_kind(const RunEnding& ending, jobs::EventKind kind, std::string detail) {
  jobs::Event event;
  event.kind = kind;
  event.attempt = ending.event.attempt;
  event.at_ns = ending.event.at_ns;
  event.detail = std::move(detail);
  return event;
}

}  // namespace

SlurmMove next_move(SlurmPhase phase, const SlurmFacts& facts) {
  if (facts.controller == Controller::never) return SlurmMove::say_not_found;
  switch (phase) {
    case SlurmPhase::recalled:
      return next_of_recalled(facts);
    case SlurmPhase::unsure:
    case SlurmPhase::submitted:
      return next_before_it_begins(phase, facts);
    case SlurmPhase::running:
      return next_of_running(facts);
  }
  return SlurmMove::wait;
}

std::vector<jobs::Event> events_of_end(const RunEnding& ending,
                                       const std::optional<slurm::Job>& job, bool stopped) {
  using enum jobs::EventKind;
  jobs::Event end = ending.event;
  if (stopped || !job || (end.kind == exited && end.exit.ending == jobs::Ending::completed))
    return {end};
  const std::string words = slurm::describe_end(*job);
  const auto because = [&](jobs::EventKind kind) {
    jobs::Event first = of_kind(ending, kind, words);
    if (kind == kill_asked) first.who = "Slurm";
    end.kind = exited;
    end.exit.ending = jobs::Ending::interrupted;
    end.detail = words;
    return std::vector<jobs::Event>{first, end};
  };
  using State = slurm::JobState;
  switch (job->state) {
    case State::cancelled:
      return because(kill_asked);
    case State::preempted:
      return because(preempted);
    case State::timeout:
    case State::deadline:
      return because(time_limit);
    case State::node_fail:
    case State::boot_fail:
      return because(node_lost);
    case State::out_of_memory:
      end.detail = words;
      break;
    default:
      break;
  }
  if (!ending.lost.empty()) return {of_kind(ending, node_lost, ending.lost), end};
  return {end};
}

}  // namespace assay::engine
