#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace assay::perflog {

enum class EventKind : std::uint8_t {
  init_start,
  init_end,
  train_start,
  train_end,
  epoch_begin,
  epoch_end,
  step_begin,
  step_end,
  init_evaluation,
  evaluate,
  phase,  ///< PHASE: the end of a program's phase, with its name and duration in seconds
  finished,
  submit_info,
  unknown,  ///< well-formed, but with an unknown event name or none
};

inline constexpr std::array<std::pair<EventKind, std::string_view>, 13> kEventNames{{
    {EventKind::step_end, "STEP_END"},
    {EventKind::step_begin, "STEP_BEGIN"},
    {EventKind::epoch_begin, "EPOCH_BEGIN"},
    {EventKind::epoch_end, "EPOCH_END"},
    {EventKind::evaluate, "EVALUATE"},
    {EventKind::init_start, "INIT_START"},
    {EventKind::init_end, "INIT_END"},
    {EventKind::train_start, "TRAIN_START"},
    {EventKind::train_end, "TRAIN_END"},
    {EventKind::init_evaluation, "INIT_EVALUATION"},
    {EventKind::phase, "PHASE"},
    {EventKind::finished, "FINISHED"},
    {EventKind::submit_info, "SUBMIT_INFO"},
}};

/// The kind of an event name, exactly as FlagPerf writes it ("STEP_END").
[[nodiscard]] constexpr EventKind event_kind(std::string_view name) noexcept {
  for (const auto& [kind, text] : kEventNames)
    if (text == name) return kind;
  return EventKind::unknown;
}

/// "STEP_END"; "" for unknown.
[[nodiscard]] constexpr std::string_view to_string(EventKind kind) noexcept {
  for (const auto& [candidate, text] : kEventNames)
    if (candidate == kind) return text;
  return {};
}

/// A scalar in the event's payload.
struct Field {
  enum class Type : std::uint8_t { number, boolean, text, null };
  /// Unescaped. A scalar of an object inside `value` (or inside another top-level key) is
  /// "outer.inner"; arrays and deeper levels are not listed.
  std::string_view key;
  /// A null that is named in the value's "nonfinite" list (see writer.h) is a number, NaN.
  Type type = Type::null;
  double number = 0;      ///< for numbers (including NaN and infinities) and booleans (0 or 1)
  std::string_view text;  ///< for Type::text, still JSON-escaped
};

/// A PerfLog line. All views point into the parser's buffers and become invalid after the callback.
struct Event {
  static constexpr std::int64_t kMissing = INT64_MIN;
  EventKind kind = EventKind::unknown;
  std::string_view name;
  std::int64_t time_ms = kMissing;  ///< wall clock, Unix epoch; from `metadata` or the top level
  std::int64_t mono_us = kMissing;  ///< CLOCK_MONOTONIC of the rank's host; Assay's own addition
  /// The top level's `step`, or else the value's `step`, `global_steps` or `global_step`, in this
  /// order.
  std::int64_t step = kMissing;
  /// The fields of `value` and the other top-level keys (except `event` and `metadata`), in the
  /// order of the line; repeated keys appear repeatedly.
  std::span<const Field> fields;
  std::uint64_t line = 0;  ///< 1-based

  /// The first field with that name, or nullptr.
  [[nodiscard]] const Field* find(std::string_view key) const noexcept {
    for (const Field& field : fields)
      if (field.key == key) return &field;
    return nullptr;
  }
};

/// Statistics of parsing one file.
struct ParseStats {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t events = 0;
  std::uint64_t malformed = 0;  ///< lines whose PerfLog token is not followed by a JSON object
  std::uint64_t first_malformed = 0;  ///< line number; 0 if none
  /// The last line has no newline and breaks off inside a PerfLog line; not counted as malformed.
  bool truncated_tail = false;
};

}  // namespace assay::perflog
