#include "jobs/cron.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::jobs {

namespace {

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};
constexpr int kDaysSearched = 366 * 9;  // February 29 is at most eight years away

struct CronField {
  const char* name;
  int least;
  int most;
  std::span<const std::string_view> words;
};

std::optional<int> value_of(std::string_view text, const CronField& field) {
  const std::string word = to_lower(text);
  for (std::size_t i = 0; i < field.words.size(); ++i)
    if (word == field.words[i]) return static_cast<int>(i) + field.least;
  return parse_number<int>(text, field.least, field.most);
}

/// Calls put(value) for all that the field stands for; false where it stands for nothing.
template <class Put>
bool read_field(std::string_view text, const CronField& field, Put put) {
  for (std::string_view part : split(text, ',')) {
    int step = 1;
    const auto slash = part.find('/');
    if (slash != std::string_view::npos) {
      const auto parsed = parse_number<int>(part.substr(slash + 1), 1, field.most);
      if (!parsed) return false;
      step = *parsed;
      part = part.substr(0, slash);
    }
    int first = field.least;
    int last = field.most;
    if (part != "*") {
      const auto dash = part.find('-');
      const auto from = value_of(part.substr(0, dash), field);
      if (!from) return false;
      first = last = *from;
      if (dash != std::string_view::npos) {
        const auto to = value_of(part.substr(dash + 1), field);
        if (!to || *to < first) return false;
        last = *to;
      } else if (slash != std::string_view::npos) {
        last = field.most;  // "5/15": from 5 on
      }
    }
    for (int value = first; value <= last; value += step) put(static_cast<std::size_t>(value));
  }
  return true;
}

struct CronWord {
  std::string_view word;
  std::string_view meaning;
};
constexpr std::array<CronWord, 7> kCronWords{{{"@hourly", "0 * * * *"},
                                              {"@daily", "0 0 * * *"},
                                              {"@midnight", "0 0 * * *"},
                                              {"@weekly", "0 0 * * 0"},
                                              {"@monthly", "0 0 1 * *"},
                                              {"@yearly", "0 0 1 1 *"},
                                              {"@annually", "0 0 1 1 *"}}};

std::string_view spelled_out(std::string_view text) {
  const auto* const found = std::ranges::find(kCronWords, text, &CronWord::word);
  return found == kCronWords.end() ? text : found->meaning;
}

std::string cron_words() {
  std::string out;
  for (const CronWord& one : kCronWords) out.append(out.empty() ? "" : ", ").append(one.word);
  return out;
}

}  // namespace

Cron Cron::parse(std::string_view text, const std::string& where) {
  Cron cron;
  std::vector<std::string_view> words;
  for (const std::string_view word : split(spelled_out(trim(text)), ' '))
    if (!word.empty()) words.push_back(word);
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::config, what, where,
                "minute hour day-of-month month day-of-week, as '30 2 * * mon-fri'; or one of " +
                    cron_words());
  };
  if (words.size() != 5) fail("a schedule has five fields, not " + std::to_string(words.size()));
  const auto read = [&](std::size_t i, const CronField& field, auto put) {
    if (!read_field(words[i], field, put))
      fail("not a valid " + std::string(field.name) + ": '" + printable(words[i]) + "'");
  };
  read(0, {"minute", 0, 59, {}}, [&](std::size_t v) { cron.minutes_.set(v); });
  read(1, {"hour", 0, 23, {}}, [&](std::size_t v) { cron.hours_.set(v); });
  read(2, {"day of the month", 1, 31, {}}, [&](std::size_t v) { cron.days_.set(v); });
  read(3, {"month", 1, 12, kMonths}, [&](std::size_t v) { cron.months_.set(v); });
  read(4, {"day of the week", 0, 7, kWeekdays}, [&](std::size_t v) { cron.weekdays_.set(v % 7); });
  cron.any_day_ = words[2].starts_with('*');
  cron.any_weekday_ = words[4].starts_with('*');
  if (!cron.next(0)) fail("this moment never comes: '" + printable(text) + "'");
  return cron;
}

bool Cron::has_day(unsigned day, unsigned month, unsigned weekday) const {
  if (!months_[month]) return false;
  if (any_day_ || any_weekday_) return days_[day] && weekdays_[weekday];
  return days_[day] || weekdays_[weekday];
}

std::optional<WallTime> Cron::next(WallTime after_ns) const {
  using namespace std::chrono;
  const sys_time<nanoseconds> after{nanoseconds(after_ns)};
  const sys_time<minutes> first = floor<minutes>(after) + minutes(1);
  sys_days day = floor<days>(first);
  for (int i = 0; i < kDaysSearched; ++i, day += days(1)) {
    const year_month_day date(day);
    if (!has_day(static_cast<unsigned>(date.day()), static_cast<unsigned>(date.month()),
                 weekday(day).c_encoding()))
      continue;
    const int from = i == 0 ? static_cast<int>((first - day).count()) : 0;
    for (int minute = from; minute < 24 * 60; ++minute)
      if (hours_[static_cast<std::size_t>(minute / 60)] &&
          minutes_[static_cast<std::size_t>(minute % 60)])
        return nanoseconds((day + minutes(minute)).time_since_epoch()).count();
  }
  return std::nullopt;
}

}  // namespace assay::jobs
