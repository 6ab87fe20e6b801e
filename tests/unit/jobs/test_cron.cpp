#include <ctime>

#include <gtest/gtest.h>

#include "core/time.h"
#include "error_of.h"
#include "jobs/cron.h"

namespace assay::jobs {
namespace {

constexpr WallTime kMinute = 60'000'000'000;

WallTime at(int year, int month, int day, int hour, int minute) {
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  return static_cast<WallTime>(timegm(&parts)) * 1'000'000'000;
}

std::string next_after(const char* cron, WallTime after_ns) {
  return iso_utc(Cron::parse(cron, "schedule").next(after_ns).value());
}

TEST(Cron, GivesTheNextMomentAfterOne) {
  const WallTime monday = at(2026, 11, 16, 12, 30);
  EXPECT_EQ(next_after("30 2 * * *", monday), "2026-11-17T02:30:00Z");
  EXPECT_EQ(next_after("*/15 * * * *", monday), "2026-11-16T12:45:00Z");
  EXPECT_EQ(next_after("0 8 * * mon-fri", at(2026, 11, 20, 9, 0)), "2026-11-23T08:00:00Z");
  EXPECT_EQ(next_after("0 0 1 jan *", monday), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next_after("0 0 29 2 *", monday), "2028-02-29T00:00:00Z");
  EXPECT_EQ(next_after("@weekly", monday), "2026-11-22T00:00:00Z");
  EXPECT_EQ(next_after("@midnight", monday), "2026-11-17T00:00:00Z");
  EXPECT_EQ(next_after("@yearly", monday), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next_after("@annually", monday), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next_after("0 0 * * 7", monday), "2026-11-22T00:00:00Z");
}

TEST(Cron, TheMomentItselfIsNotAfterIt) {
  EXPECT_EQ(next_after("30 12 * * *", at(2026, 11, 16, 12, 30)), "2026-11-17T12:30:00Z");
  EXPECT_EQ(next_after("30 12 * * *", at(2026, 11, 16, 12, 30) - 1), "2026-11-16T12:30:00Z");
}

TEST(Cron, EitherOfTwoLimitedDaysIsEnough) {
  // The 13th, and every Friday.
  EXPECT_EQ(next_after("0 0 13 * fri", at(2026, 11, 8, 0, 0)), "2026-11-13T00:00:00Z");
  EXPECT_EQ(next_after("0 0 13 * fri", at(2026, 11, 13, 0, 0)), "2026-11-20T00:00:00Z");
}

/// The same by looking at every minute.
WallTime by_hand(bool (*fits)(const std::tm&), WallTime after_ns) {
  for (WallTime ns = (after_ns / kMinute + 1) * kMinute;; ns += kMinute) {
    const std::time_t seconds = ns / 1'000'000'000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    if (fits(parts)) return ns;
  }
}

TEST(Cron, AgreesWithLookingAtEveryMinute) {
  struct Example {
    const char* text;
    bool (*fits)(const std::tm&);
  };
  const Example examples[] = {
      {"5,35 */6 * * *",
       [](const std::tm& t) { return (t.tm_min == 5 || t.tm_min == 35) && t.tm_hour % 6 == 0; }},
      {"0 22-23 31 * *",
       [](const std::tm& t) { return t.tm_min == 0 && t.tm_hour >= 22 && t.tm_mday == 31; }},
      {"10/25 3 * 2,3 sat",
       [](const std::tm& t) {
         return (t.tm_min == 10 || t.tm_min == 35) && t.tm_hour == 3 &&
                (t.tm_mon == 1 || t.tm_mon == 2) && t.tm_wday == 6;
       }},
  };
  for (const Example& example : examples) {
    const Cron cron = Cron::parse(example.text, "schedule");
    for (int i = 0; i < 6; ++i) {
      const WallTime after_ns = at(2023, 12, 1, 0, 0) + i * 54'321'987'654'321'000;
      EXPECT_EQ(cron.next(after_ns), by_hand(example.fits, after_ns)) << example.text;
    }
  }
}

TEST(Cron, SaysWhatIsWrong) {
  const auto error = [](const char* text) {
    return testing::error_of([&] { return Cron::parse(text, "schedule"); });
  };
  EXPECT_NE(error("* * * *").find("a schedule has five fields, not 4"), std::string::npos);
  EXPECT_NE(error("60 * * * *").find("not a valid minute: '60'"), std::string::npos);
  EXPECT_NE(error("* * * * funday").find("not a valid day of the week: 'funday'"),
            std::string::npos);
  EXPECT_NE(error("* 5-2 * * *").find("not a valid hour: '5-2'"), std::string::npos);
  EXPECT_NE(error("*/0 * * * *").find("not a valid minute"), std::string::npos);
  EXPECT_NE(error("0 0 30 2 *").find("this moment never comes"), std::string::npos);
  EXPECT_NE(error("").find("five fields"), std::string::npos);
  EXPECT_NE(error("@reboot").find("@hourly, @daily, @midnight"), std::string::npos);
}

}  // namespace
}  // namespace assay::jobs
