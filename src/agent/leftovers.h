#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace assay::agent {

/// Decides what happens to processes that outlive a round's ranks, by the clock alone; it never
/// looks at a process.
class Leftovers {
 public:
  enum class Action : std::uint8_t {
    wait,       ///< they may follow their rank on their own
    ask,        ///< SIGTERM, once, to those not asked together with their rank
    terminate,  ///< SIGTERM to all
    kill,       ///< SIGKILL to all
    give_up     ///< nothing ends them: report their names
  };

  /// Called when the last rank has ended.
  void begin(std::int64_t mono_ns) { since_ns_ = mono_ns; }
  /// The action for `left` (at least 1) processes. A stopped round's grace ends at `kill_at_ns`.
  [[nodiscard]] Action next(std::int64_t mono_ns, std::size_t left,
                            std::optional<std::int64_t> kill_at_ns);
  /// Whether a process that nobody sees, but that holds a rank's output, may still show or end.
  [[nodiscard]] bool patient(std::int64_t mono_ns) const noexcept;
  /// How many outlived a rank that ended by itself; after a stop, everything is ended anyway.
  [[nodiscard]] int noteworthy() const noexcept { return noteworthy_; }

 private:
  std::int64_t since_ns_ = 0;
  bool signalled_ = false;
  int noteworthy_ = 0;
};

}  // namespace assay::agent
