#include <charconv>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "perflog/number.h"

namespace assay::perflog::detail {
namespace {

// strtod is the independent computation.
void expect_like_strtod(const std::string& text) {
  const std::string padded = text + ",\n";
  Number number;
  const char* const end = read_number(padded.data(), padded.data() + padded.size(), number);
  ASSERT_EQ(end, padded.data() + text.size()) << text;
  const double expected = std::strtod(text.c_str(), nullptr);
  EXPECT_EQ(number.value, expected) << text;
  EXPECT_EQ(std::signbit(number.value), std::signbit(expected)) << text;
}

TEST(Number, AgreesWithStrtodOnChosenNumbers) {
  for (const char* text : {"0",
                           "-0",
                           "0.0",
                           "-0.0",
                           "1",
                           "12345678",
                           "123456789",
                           "1234567890123456789",
                           "9223372036854775807",
                           "9223372036854775808",
                           "18446744073709551615",
                           "18446744073709551616",
                           "99999999999999999999",
                           "123456789012345678901234567890",
                           "9007199254740993",
                           "9007199254740993.0",
                           "0.1",
                           "0.3",
                           "2.675",
                           "1e22",
                           "1e23",
                           "1e-22",
                           "1e-23",
                           "8.5e-27",
                           "1.7976931348623157e308",
                           "1.7976931348623159e308",
                           "4.9e-324",
                           "2.4703282292062327e-324",
                           "2.2250738585072011e-308",
                           "1e999",
                           "-1e999",
                           "1e-999",
                           "0e999",
                           "0.000e-999",
                           "1E5",
                           "1e+5",
                           "1.5e+300",
                           "0.00019345600000000002",
                           "0.000000000000000000000000000000012345",
                           "9.999999747378752e-05",
                           "1.",
                           "100000000000000000000000000000000000000e-38",
                           "9007199254740992.5",
                           "9007199254740993.5",
                           "4503599627370496.5",
                           "4503599627370497.5",
                           "1e99999999999999999999",
                           "1e-99999999999999999999"})
    expect_like_strtod(text);
}

TEST(Number, AgreesWithStrtodOnShortestAndLongRandomDoubles) {
  std::mt19937_64 random(7);
  char text[64];
  for (int i = 0; i < 200000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) {
      *std::to_chars(text, text + sizeof text, value).ptr = '\0';
      expect_like_strtod(text);
    }
    // What trainers print: magnitudes from 1e-9 to 1e9, with 1 to 20 digits.
    const double usual =
        std::ldexp(static_cast<double>(random() >> 11), -53 - static_cast<int>(random() % 30)) *
        (random() % 2 == 0 ? 1e9 : 1);
    std::snprintf(text, sizeof text, random() % 2 == 0 ? "%.*f" : "%.*e",
                  static_cast<int>(random() % 20), usual);
    expect_like_strtod(text);
  }
}

TEST(Number, RoundsHalfwayCasesToEven) {
  std::mt19937_64 random(9);
  char text[64];
  for (int i = 0; i < 20000; ++i) {
    // Exactly between two doubles: 54 significant bits, the last one set, scaled by 2^-k.
    const std::uint64_t odd = (std::uint64_t{1} << 53) | (random() >> 11) | 1;
    const int places = static_cast<int>(random() % 4);
    std::snprintf(text, sizeof text, "%.*f", places, 0.0);
    const std::uint64_t scale[] = {1, 10, 100, 1000};
    const std::uint64_t twos[] = {1, 2, 4, 8};  // odd / 2^places has `places` decimal places
    const std::uint64_t whole = odd / twos[places];
    const std::uint64_t fraction = odd % twos[places] * scale[places] / twos[places];
    std::string number = std::to_string(whole);
    if (places > 0) {
      const std::string digits = std::to_string(fraction);
      number += "." + std::string(static_cast<std::size_t>(places) - digits.size(), '0') + digits;
    }
    expect_like_strtod(number);
  }
}

TEST(Number, KnowsWhichIntegersFit) {
  const auto read = [](std::string text) {
    text += "}\n";
    Number number;
    EXPECT_NE(read_number(text.data(), text.data() + text.size(), number), nullptr);
    return number;
  };
  EXPECT_TRUE(read("9223372036854775807").is_integer);
  EXPECT_EQ(read("-9223372036854775807").integer, -INT64_MAX);
  EXPECT_FALSE(read("9223372036854775808").is_integer);
  EXPECT_FALSE(read("1.0").is_integer);
  EXPECT_EQ(read("00012").integer, 12);
}

TEST(Number, RejectsWhatIsNone) {
  for (const std::string text :
       {"-\n", "x\n", "+1\n", "1e\n", "1e+\n", "N\n", "-Inf\n", "\n", ".5\n"}) {
    Number number;
    EXPECT_EQ(read_number(text.data(), text.data() + text.size(), number), nullptr) << text;
  }
}

}  // namespace
}  // namespace assay::perflog::detail
