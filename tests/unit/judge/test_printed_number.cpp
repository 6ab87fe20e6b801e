#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/printed_number.h"

namespace assay::judge {
namespace {

using ::testing::Optional;

TEST(PrintedNumber, IsWhatProgramsPrint) {
  EXPECT_THAT(printed_number("1234.5"), Optional(1234.5));
  EXPECT_THAT(printed_number(" -3 "), Optional(-3.0));
  EXPECT_THAT(printed_number("+.5"), Optional(0.5));
  EXPECT_THAT(printed_number("5."), Optional(5.0));
  EXPECT_THAT(printed_number("1e-3"), Optional(0.001));
  EXPECT_THAT(printed_number("1.5E+6"), Optional(1.5e6));
  EXPECT_THAT(printed_number("−2"), Optional(-2.0));
}

TEST(PrintedNumber, HasThousandsInGroupsOfThree) {
  EXPECT_THAT(printed_number("1,234.5"), Optional(1234.5));
  EXPECT_THAT(printed_number("12,345,678"), Optional(12345678.0));
  EXPECT_THAT(printed_number("1_234"), Optional(1234.0));
  EXPECT_THAT(printed_number("1'234'567.25"), Optional(1234567.25));
  EXPECT_THAT(printed_number("1\u2009234"), Optional(1234.0));
  EXPECT_THAT(printed_number("1\u202F234\u202F567"), Optional(1234567.0));
  EXPECT_THAT(printed_number("1\u00A0234"), Optional(1234.0));
}

TEST(PrintedNumber, TakesTheCommaBehindItForPunctuation) {
  EXPECT_THAT(printed_number("1,234.5,"), Optional(1234.5));
}

TEST(PrintedNumber, IsNotGuessedWhereItCouldMeanTwoThings) {
  for (const char* text : {"1,5", "0,123", "1,23", "1,2345", "12,34,567", "1.234,5", "1.234.567",
                           "1 234", "1,234_567", "1234,567", "1_23", "1,,234"})
    EXPECT_EQ(printed_number(text), std::nullopt) << text;
}

TEST(PrintedNumber, IsNothingElse) {
  for (const char* text : {"", " ", "-", ".", "..", "1.2.3", "nan", "inf", "1e999", "0x10", "12m",
                           "3B", "1e3k", "k", "%", "1 2", "--1", "1.5it", "N/A"})
    EXPECT_EQ(printed_number(text), std::nullopt) << text;
}

TEST(PrintedNumber, TakesSuffixesExactly) {
  EXPECT_THAT(printed_number("12.3k"), Optional(12300.0));
  EXPECT_THAT(printed_number("4.5M"), Optional(4.5e6));
  EXPECT_THAT(printed_number("1.2 G"), Optional(1.2e9));
  EXPECT_THAT(printed_number("1.1T"), Optional(1.1e12));
  EXPECT_THAT(printed_number("2P"), Optional(2e15));
  EXPECT_THAT(printed_number("1.5Ki"), Optional(1536.0));
  EXPECT_THAT(printed_number("2Mi"), Optional(2097152.0));
  EXPECT_THAT(printed_number("85.3%"), Optional(0.853));
  EXPECT_THAT(printed_number("85.3 %"), Optional(0.853));
}

double speed_of(const char* text, const char* unit = "it") {
  return printed_speed(text, unit).value.value_or(-1);
}

TEST(PrintedSpeed, IsInUnitsOfWorkASecond) {
  EXPECT_EQ(speed_of("1.50it/s"), 1.5);
  EXPECT_EQ(speed_of("44.5 it/s"), 44.5);
  EXPECT_EQ(speed_of("1,234.5it/s"), 1234.5);
  EXPECT_EQ(speed_of("12.3kit/s"), 12300);
  EXPECT_EQ(speed_of("3.5samples/sec", "samples"), 3.5);
}

TEST(PrintedSpeed, OfSlowWorkIsTimePerUnit) {
  EXPECT_EQ(speed_of("2.00s/it"), 0.5);
  EXPECT_DOUBLE_EQ(speed_of("12ms/step", "step"), 1 / 0.012);
  EXPECT_DOUBLE_EQ(speed_of("250us/step", "step"), 4000);
  EXPECT_DOUBLE_EQ(speed_of("250µs/step", "step"), 4000);
  EXPECT_DOUBLE_EQ(speed_of("2min/epoch", "epoch"), 1.0 / 120);
}

// "T" is a suffix of SI and the beginning of a word.
TEST(PrintedSpeed, KnowsItsUnitByTheSuite) {
  EXPECT_EQ(speed_of("4.0Tokens/s", "Tokens"), 4);
  EXPECT_EQ(speed_of("4.0kTokens/s", "Tokens"), 4000);
  EXPECT_EQ(speed_of("4.0Tokens/s", "tokens"), -1);
  EXPECT_EQ(speed_of("4.0batch/s", "it"), -1);
  EXPECT_EQ(speed_of("4.0", "it"), -1);
  EXPECT_EQ(speed_of("0s/it", "it"), -1);
}

TEST(PrintedSpeed, ThatIsNotKnownYetIsNoError) {
  EXPECT_TRUE(printed_speed("?it/s", "it").unknown_yet);
  EXPECT_FALSE(printed_speed("?batch/s", "it").unknown_yet);
  EXPECT_FALSE(printed_speed("5it/s", "it").unknown_yet);
}

}  // namespace
}  // namespace assay::judge
