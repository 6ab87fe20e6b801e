#include <limits>

#include <gtest/gtest.h>

#include "core/units.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, UnderstandsEveryUnit) {
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("5m"), 5min);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("3d"), 72h);
  EXPECT_EQ(parse_duration("7"), 7s);
}

TEST(ParseDuration, RefusesWhatIsNone) {
  for (const char* text : {"", "fast", "-1s", "1 parsec", "nan", "inf", "1e300s", "1s2"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

TEST(DurationText, IsReadBackExactly) {
  for (const auto d : {Nanoseconds(1), Nanoseconds(1500us), Nanoseconds(250ms), Nanoseconds(90s),
                       Nanoseconds(2h), Nanoseconds(0)})
    EXPECT_EQ(parse_duration(duration_text(d)), d) << duration_text(d);
}

TEST(ParseSize, UsesPowersOf1024) {
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("32 GiB"), 34359738368u);
  EXPECT_EQ(parse_size("1.5m"), 1572864u);
  EXPECT_EQ(parse_size("x"), std::nullopt);
  EXPECT_EQ(parse_size("10 lb"), std::nullopt);
}

TEST(FormatNumber, KeepsFourDigitsAndGroupsThousands) {
  EXPECT_EQ(format_number(12345.6), "12,346");
  EXPECT_EQ(format_number(-1234567), "-1,234,567");
  EXPECT_EQ(format_number(12.3456), "12.35");
  EXPECT_EQ(format_number(0.000012), "1.200e-05");
  EXPECT_EQ(format_number(0), "0");
}

TEST(FromSeconds, GivesTheLargestDurationForWhatDoesNotFit) {
  EXPECT_EQ(from_seconds(1.5), 1500ms);
  EXPECT_GT(from_seconds(1e300), 24h * 365 * 290);
  EXPECT_EQ(from_seconds(-1e300), -from_seconds(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(from_seconds(std::numeric_limits<double>::quiet_NaN()), 0s);
}

TEST(FormatDuration, ReadsWell) {
  EXPECT_EQ(format_duration(312ms), "312 ms");
  EXPECT_EQ(format_duration(4200ms), "4.20 s");
  EXPECT_EQ(format_duration(185s), "3 min 05 s");
  EXPECT_EQ(format_duration(123min), "2 h 03 min");
}

}  // namespace
}  // namespace assay
