#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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
  finished,
  submit_info,
  unknown,  ///< well-formed, with an event name that is not in the vocabulary
};

/// One scalar of the event's payload.
struct Field {
  enum class Type : std::uint8_t { number, boolean, text, null };
  std::string_view key;
  Type type = Type::null;
  double number = 0;      ///< numbers (NaN and infinities included) and booleans (0 or 1)
  std::string_view text;  ///< for Type::text, still JSON-escaped
};

/// One PerfLog line. All views point into the parser's buffers and end with the callback.
struct Event {
  static constexpr std::int64_t kMissing = INT64_MIN;
  EventKind kind = EventKind::unknown;
  std::string_view name;
  std::int64_t time_ms = kMissing;  ///< wall clock, Unix epoch
  std::int64_t mono_us = kMissing;  ///< CLOCK_MONOTONIC of the rank's host; Assay's own addition
  std::int64_t step = kMissing;     ///< from the top level or the value
  std::span<const Field> fields;    ///< of `value` and of the other top-level keys, as they stand
  std::uint64_t line = 0;           ///< 1-based

  /// The field of that name, or nullptr.
  [[nodiscard]] const Field* find(std::string_view key) const noexcept {
    for (const Field& field : fields)
      if (field.key == key) return &field;
    return nullptr;
  }
};

/// What a parser met in one file.
struct ParseStats {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t events = 0;
  std::uint64_t malformed = 0;        ///< lines with the PerfLog token that are not one JSON object
  std::uint64_t first_malformed = 0;  ///< line number, 0 when there is none
  bool truncated_tail = false;        ///< the last line has no newline and is not a whole event
};

}  // namespace assay::perflog
