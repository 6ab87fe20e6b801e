#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace assay::agent {

/// What becomes of processes that outlive the ranks of a round: by the clock alone, without a look
/// at any process.
class Leftovers {
 public:
  enum class Action : std::uint8_t {
    wait,       ///< they may follow their rank by themselves
    ask,        ///< SIGTERM to those that were not asked with their rank: once
    terminate,  ///< SIGTERM to all
    kill,       ///< SIGKILL to all
    give_up     ///< nothing ends them: they are named
  };

  /// The last rank has ended.
  void begin(std::int64_t mono_ns) { since_ns_ = mono_ns; }
  /// For `left` processes, at least one. `kill_at_ns`: when the grace of a stopped round ends.
  [[nodiscard]] Action next(std::int64_t mono_ns, std::size_t left,
                            std::optional<std::int64_t> kill_at_ns);
  /// How many outlived a rank that ended by itself. After a stop everything is ended anyway.
  [[nodiscard]] int noteworthy() const noexcept { return noteworthy_; }

 private:
  std::int64_t since_ns_ = 0;
  bool signalled_ = false;
  int noteworthy_ = 0;
};

}  // namespace assay::agent
