#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "perflog/event.h"
#include "perflog/roles.h"

namespace assay::perflog {

/// Follows a rank's output as it comes, for heartbeats, stall detection and live metrics: lines,
/// STEP_END events, the newest step number and loss, samples and accuracy. Accepts pieces cut
/// anywhere, takes less than 320 bytes and allocates nothing. It reads the same lines as Parser,
/// but gives up on an unreadable line where Parser would look for an event after the torn one. Uses
/// only the standard library, so that a fully static program can link it.
class ProgressScanner {
 public:
  void feed(std::string_view bytes) noexcept;

  /// Lines ended by a newline so far.
  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  /// Complete STEP_END events so far, whether or not their newline has come.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// Complete PerfLog events of any kind so far.
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  /// Event::step of the newest STEP_BEGIN or STEP_END that has one.
  [[nodiscard]] std::optional<std::int64_t> last_step() const noexcept { return last_step_; }
  /// Whether the newest STEP_BEGIN has no STEP_END yet.
  [[nodiscard]] bool in_step() const noexcept { return in_step_; }
  /// The loss of the newest STEP_END that has one (in the value, else at the top level); NaN or
  /// infinite if the rank reported that.
  [[nodiscard]] std::optional<double> last_loss() const noexcept { return last_loss_; }
  /// The sum of `samples` (else `global_samples`) in STEP_END values; nothing if none had any.
  [[nodiscard]] std::optional<double> samples() const noexcept { return samples_; }
  /// Complete EPOCH_END events so far.
  [[nodiscard]] std::uint64_t epochs() const noexcept { return epochs_; }
  /// How often STEP_END had a different `trial` than before: trials of an AutoML worker.
  [[nodiscard]] std::uint64_t trials() const noexcept { return trials_; }
  /// From EVALUATE events: the newest first number in a value whose name contains "acc", and the
  /// largest so far.
  [[nodiscard]] std::optional<double> last_accuracy() const noexcept { return last_accuracy_; }
  [[nodiscard]] std::optional<double> best_accuracy() const noexcept { return best_accuracy_; }

 private:
  enum class State : std::uint8_t {
    text,           // looking for the token
    before_object,  // after the token
    key_or_end,     // after '{'
    key,            // after ',' in an object
    in_key,
    colon,
    value,
    value_or_end,  // after '['
    in_string,
    in_scalar,  // number or literal
    after_value,
  };
  static constexpr std::size_t kMaxDepth = 64;

  [[nodiscard]] const char* find_object(const char* p, const char* end) noexcept;
  [[nodiscard]] State next(char c) noexcept;
  [[nodiscard]] State open(bool object) noexcept;
  [[nodiscard]] State close(bool object) noexcept;
  void begin_event() noexcept;
  void end_key() noexcept;
  void end_scalar() noexcept;
  void end_event() noexcept;
  void count_lines(const char* begin, const char* end) noexcept;
  void append(const char* begin, const char* end) noexcept;
  void push(char c) noexcept { append(&c, &c + 1); }
  /// The buffered key or scalar; empty if it was longer than the buffer.
  [[nodiscard]] std::string_view word() const noexcept {
    return length_ <= buffer_.size() ? std::string_view(buffer_.data(), length_)
                                     : std::string_view();
  }

  std::uint64_t lines_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t events_ = 0;
  std::optional<std::int64_t> last_step_;
  std::optional<double> last_loss_;
  std::optional<double> samples_;
  std::uint64_t epochs_ = 0;
  std::uint64_t trials_ = 0;
  std::int64_t last_trial_ = -1;
  std::optional<double> last_accuracy_;
  std::optional<double> best_accuracy_;

  State state_ = State::text;
  Role role_ = Role::none;  // of the newest key
  EventKind kind_ = EventKind::unknown;
  bool escaped_ = false;
  bool in_value_ = false;     // the object at depth 2 is `value`
  std::uint8_t matched_ = 0;  // bytes of the token at the end of the last piece
  Role step_source_ = Role::none;
  Role loss_source_ = Role::none;
  Role samples_source_ = Role::none;
  std::uint8_t length_ = 0;
  std::uint8_t depth_ = 0;
  std::uint64_t objects_ = 0;  // bit d: the container at depth d + 1 is an object
  std::int64_t step_ = 0;
  double loss_ = 0;
  bool has_trial_ = false;
  bool has_accuracy_ = false;
  bool in_step_ = false;
  double event_samples_ = 0;
  std::int64_t trial_ = 0;
  double accuracy_ = 0;
  std::array<char, 32> buffer_{};
};

}  // namespace assay::perflog
