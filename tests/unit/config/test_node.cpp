#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/yaml.h"
#include "error_of.h"

namespace assay::config {
namespace {

using namespace std::chrono_literals;
using assay::testing::error_of;
using ::testing::HasSubstr;

Node value(const std::string& text) {
  return *parse_yaml("v: " + text + "\n", {"s.yaml", "", false}).find("v");
}

TEST(NodeText, KeepsWhatYaml11WouldTakeForSomethingElse) {
  EXPECT_EQ(value("no").text(), "no");
  EXPECT_EQ(value("off").text(), "off");
  EXPECT_EQ(value("1.10").text(), "1.10");
  EXPECT_EQ(value("0x10").text(), "0x10");
}

TEST(NodeText, ListsMappingsAndNothingAreNotText) {
  EXPECT_EQ(error_of([] { return value("[a]").text(); }), "s.yaml:1:4: expected text, got a list");
  EXPECT_THAT(error_of([] { return value("{a: 1}").text(); }), HasSubstr("got a mapping"));
  EXPECT_THAT(error_of([] { return value("~").text(); }), HasSubstr("got nothing"));
  EXPECT_THAT(error_of([] { return value("''").nonempty_text(); }), HasSubstr("empty string"));
}

TEST(NodeText, NulIsRefused) {
  EXPECT_THAT(error_of([] { return value(R"("a\0b")").text(); }), HasSubstr("NUL"));
}

TEST(NodeInteger, ReadsWholeNumbersInRange) {
  EXPECT_EQ(value("42").integer(), 42);
  EXPECT_EQ(value("-7").integer(), -7);
  EXPECT_EQ(value("+7").integer(), 7);
  EXPECT_EQ(value("0x1F").integer(), 31);
  EXPECT_EQ(value("0o17").integer(), 15);
  EXPECT_EQ(value("-9223372036854775808").integer(), std::numeric_limits<std::int64_t>::min());
}

TEST(NodeInteger, RefusesEverythingElse) {
  for (const char* text :
       {"1.5", "1e3", "ten", "1_000", "'5'", "9223372036854775808", "--1", "0x", "0x-1", "[1]"})
    EXPECT_THAT(error_of([&] { return value(text).integer(); }),
                HasSubstr("expected a whole number"))
        << text;
  EXPECT_THAT(error_of([] { return value("0").integer(1, 9); }),
              HasSubstr("expected a whole number from 1 to 9, got '0'"));
}

TEST(NodeInteger, LeadingZeroIsAmbiguous) {
  EXPECT_THAT(error_of([] { return value("010").integer(); }), HasSubstr("octal"));
  EXPECT_THAT(error_of([] { return value("010").json(); }), HasSubstr("decimal or octal"));
}

TEST(NodeNumber, ReadsDecimalsAndExponents) {
  EXPECT_DOUBLE_EQ(value("1e-4").number(), 1e-4);
  EXPECT_DOUBLE_EQ(value("-2.5").number(), -2.5);
  EXPECT_DOUBLE_EQ(value(".5").number(), 0.5);
  EXPECT_DOUBLE_EQ(value("312e12").number(), 312e12);
  EXPECT_DOUBLE_EQ(value("3").number(), 3);
}

TEST(NodeNumber, RefusesWhatIsNotFinite) {
  for (const char* text : {".nan", ".inf", "-.inf", ".NaN", "nan", "inf", "1e999", "x", "'1'"})
    EXPECT_THAT(error_of([&] { return value(text).number(); }),
                HasSubstr("expected a finite number"))
        << text;
}

TEST(NodeBoolean, AcceptsTheUsualWordsUnquoted) {
  for (const char* text : {"true", "yes", "on", "True"}) EXPECT_TRUE(value(text).boolean());
  for (const char* text : {"false", "no", "off", "OFF"}) EXPECT_FALSE(value(text).boolean());
  EXPECT_THAT(error_of([] { return value("1").boolean(); }), HasSubstr("expected true or false"));
  EXPECT_TRUE(value("off").is_off());
  EXPECT_FALSE(value("'off'").is_off());
}

TEST(NodeDuration, SaysWhatWasExpected) {
  EXPECT_EQ(value("1.5s").duration(0s, 1h), 1500ms);
  EXPECT_EQ(value("2").duration(0s, 1h), 2s);
  EXPECT_THAT(error_of([] { return value("fast").duration(0s, 1h); }),
              HasSubstr("s.yaml:1:4: expected a duration such as 1s, got 'fast'"));
  EXPECT_THAT(error_of([] { return value("2h").duration(100ms, 1h); }),
              HasSubstr("from 100ms to 1h, got '2h'"));
}

TEST(NodeSize, ReadsPowersOf1024) {
  EXPECT_EQ(value("64K").size(), 65536U);
  EXPECT_THAT(error_of([] { return value("big").size(); }), HasSubstr("a size such as 64M"));
}

TEST(NodeJson, GivesEveryScalarItsType) {
  EXPECT_EQ(dump_line(value("[1, 2.5, 1e-4, true, no, '1', ~, text, -0]").json()),
            R"([1,2.5,0.0001,true,"no","1",null,"text",0])");
}

TEST(NodeJson, RefusesNumbersThatCannotBeKept) {
  EXPECT_THAT(error_of([] { return value("99999999999999999999").json(); }),
              HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(error_of([] { return value(".inf").json(); }), HasSubstr("finite"));
}

TEST(NodeWith, ReplacesAndAddsValuesWithoutChangingTheOriginal) {
  const Node root = parse_yaml("a: {b: 1, c: 2}\n", {"s.yaml", "", false});
  const Node changed = root.with({"a", "b"}, value("9")).with({"d", "e"}, value("x"));
  EXPECT_EQ(dump_line(changed.json()), R"({"a":{"b":9,"c":2},"d":{"e":"x"}})");
  EXPECT_EQ(dump_line(root.json()), R"({"a":{"b":1,"c":2}})");
}

TEST(NodeWith, RefusesToReplaceAScalarByAMapping) {
  const Node root = parse_yaml("a: 1\n", {"s.yaml", "", false});
  EXPECT_THAT(error_of([&] {
                return root.with({"a", "b"}, value("2"));
              }),
              HasSubstr("not a mapping"));
}

}  // namespace
}  // namespace assay::config
