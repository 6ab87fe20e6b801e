#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/job_state.h"

namespace assay::jobs {

/// When something is done again and again: "minute hour day-of-month month day-of-week", in UTC.
/// A field is *, numbers, ranges and steps ("*/15", "1-5", "8,12,18-22/2"); months and days of the
/// week may be names of three letters, and Sunday is 0 or 7. Where both days are limited, either of
/// them is enough, as cron has it. "@hourly", "@daily" (or "@midnight"), "@weekly", "@monthly" and
/// "@yearly" (or "@annually") stand for what they say.
class Cron {
 public:
  /// Throws Error of kind config at `where` with the field that is wrong, also for a moment that
  /// never comes (February 30).
  [[nodiscard]] static Cron parse(std::string_view text, const std::string& where);

  /// The first such minute that begins after `after_ns`. What was missed is not made up for.
  [[nodiscard]] std::optional<WallTime> next(WallTime after_ns) const;

 private:
  [[nodiscard]] bool has_day(unsigned day, unsigned month, unsigned weekday) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;     // from 1
  std::bitset<13> months_;   // from 1
  std::bitset<7> weekdays_;  // from Sunday
  bool any_day_ = true;      // the day of the month is *
  bool any_weekday_ = true;
};

}  // namespace assay::jobs
