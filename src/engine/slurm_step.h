#pragma once

#include <optional>
#include <vector>

#include "engine/run_ending.h"
#include "slurm/job.h"

namespace assay::engine {

/// What the watch of Slurm's executions takes one for.
enum class SlurmPhase {
  recalled,   ///< of a server before: what became of it is not known yet
  unsure,     ///< sbatch had no answer: Slurm may have it
  submitted,  ///< Slurm has it; its controller has not begun
  running,
};

/// What can be seen of an execution at a moment.
struct SlurmFacts {
  enum class Controller { none, never, begun };
  /// Of its jobs in Slurm. `unknown`: Slurm did not answer since it was last asked to do something.
  enum class InSlurm { unknown, absent, active, ended };

  Controller controller = Controller::none;
  bool lives = false;      ///< the controller; it holds its lock
  bool has_end = false;    ///< the controller has said how it ended
  bool completed = false;  ///< every round was done: nobody has cut it short
  InSlurm in_slurm = InSlurm::unknown;
  bool stopped = false;    ///< the platform wants its end
  bool long_gone = false;  ///< Slurm has said for a while that it has ended
};

enum class SlurmMove {
  wait,
  submit,         ///< once more: Slurm has not got it
  adopt,          ///< Slurm has it, and it has not begun
  say_started,    ///< and it runs
  say_found,      ///< the same, of a server before
  say_not_found,  ///< it never began, and never will
  call_off,       ///< the same; has to be decided first, because it may begin in this very moment
  finish,         ///< nothing of it runs any more
};

/// The next thing to do. Pure.
[[nodiscard]] SlurmMove next_move(SlurmPhase phase, const SlurmFacts& facts);

/// What is reported of an execution that has ended: Slurm's reason first, where it was Slurm that
/// ended it, then the end. `job`: as Slurm knew it last. Pure.
[[nodiscard]] std::vector<jobs::Event> events_of_end(const RunEnding& ending,
                                                     const std::optional<slurm::Job>& job,
                                                     bool stopped);

}  // namespace assay::engine
