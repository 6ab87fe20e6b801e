#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json_access.h"
#include "core/json_error.h"
#include "error_of.h"

namespace assay {
namespace {

using testing::error_of;

enum class Shape { round, square };
constexpr auto enum_names(Shape) {
  return std::to_array<EnumName<Shape>>({{Shape::round, "round"}, {Shape::square, "square"}});
}

const Json kValue = Json::parse(R"({
  "text": "a", "whole": 7, "real": 1.5, "huge": 1e300, "yes": true, "none": null,
  "list": [1], "object": {"x": 1}, "digits": "3043"})");

TEST(ParseJson, ANumberThatNothingHoldsIsAnErrorOfTheFile) {
  EXPECT_THAT(error_of([] { return parse_json(R"({"a": 1e999})", "run/plan.json"); }),
              ::testing::AllOf(::testing::HasSubstr("not valid JSON"),
                               ::testing::HasSubstr("run/plan.json")));
  EXPECT_TRUE(parse_json_or_null(R"({"a": 1e999})").is_null());
}

TEST(ParseJson, SaysInPlainWordsWhatIsWrongAndWhere) {
  const auto error = [](const std::string& text) {
    return error_of([&] { return parse_json(text, "a.json"); });
  };
  EXPECT_THAT(error(""), ::testing::HasSubstr("a.json: not valid JSON: it is empty"));
  EXPECT_THAT(error(" \n"), ::testing::HasSubstr("it has nothing but blanks"));
  EXPECT_THAT(error("{\"a\": 1,\n \"b\": [1, 2"),
              ::testing::HasSubstr("a.json:2:12: not valid JSON: it ends too early"));
  EXPECT_THAT(error("{\"a\": 1,\n  b: 2}"),
              ::testing::HasSubstr("a.json:2:3: not valid JSON: unexpected 'b'"));
  EXPECT_THAT(error("{} {}"), ::testing::HasSubstr("a.json:1:4: not valid JSON: unexpected '{'"));
  EXPECT_THAT(error("[\"\xff\"]"), ::testing::HasSubstr("a text that is not UTF-8"));
  EXPECT_THAT(error("[\"a\nb\"]"), ::testing::HasSubstr("a line end or control character"));
  EXPECT_THAT(error("[1e999]"), ::testing::HasSubstr("a number is too large"));
  for (const char* text : {"", "{", "[1e999]", "nul", "\xff", "[1,]", "{\"a\" 1}", "\"\\u12\""})
    EXPECT_THAT(error(text), ::testing::Not(::testing::HasSubstr("json.exception"))) << text;
}

TEST(PlainError, NamesTypesAndKeysAsPeopleDo) {
  const auto said = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const std::exception& error) {
      return plain_error(error);
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(said([] { (void)kValue.at("whole").get<std::string>(); }),
            "expected a string, got a number");
  EXPECT_EQ(said([] { (void)kValue.at("none").get<bool>(); }),
            "expected true or false, got nothing");
  EXPECT_EQ(said([] { (void)kValue.at("absent"); }), "there is no 'absent'");
  EXPECT_EQ(said([] { (void)kValue.at("list").at(3); }), "there is no item 3");
  EXPECT_EQ(said([] { (void)kValue.at("text").at("a"); }), "a string is not what belongs here");
  EXPECT_EQ(said([] { (void)Json(7).value("a", 1); }), "a number is not what belongs here");
  EXPECT_EQ(said([] { throw std::runtime_error("[1] of two"); }), "[1] of two");
}

TEST(TolerantJson, GivesWhatIsThere) {
  EXPECT_EQ(text_at(kValue, "text"), "a");
  EXPECT_EQ(number_at(kValue, "real"), 1.5);
  EXPECT_EQ(integer_at(kValue, "whole"), 7);
  EXPECT_EQ(integer_at(kValue, "real"), 1);
  EXPECT_EQ(list_at(kValue, "list").size(), 1u);
  EXPECT_EQ(object_at(kValue, "object").size(), 1u);
  EXPECT_EQ(member_at(kValue, "whole"), 7);
}

TEST(TolerantJson, GivesTheFallbackForAnotherType) {
  EXPECT_EQ(text_at(kValue, "whole", "b"), "b");
  EXPECT_EQ(number_at(kValue, "text"), std::nullopt);
  EXPECT_EQ(integer_at(kValue, "digits"), std::nullopt);
  EXPECT_EQ(integer_at(kValue, "huge"), std::nullopt);
  EXPECT_TRUE(list_at(kValue, "object").empty());
  EXPECT_TRUE(object_at(kValue, "list").empty());
}

TEST(TolerantJson, GivesTheFallbackForWhatIsMissingOrInNoObject) {
  for (const Json& json : {kValue, Json(), Json(3), Json::array({1})}) {
    EXPECT_EQ(text_at(json, "missing", "b"), "b");
    EXPECT_EQ(number_at(json, "missing"), std::nullopt);
    EXPECT_EQ(any_integer_at(json, "missing", -1), -1);
    EXPECT_TRUE(member_at(json, "missing").is_null());
  }
}

TEST(TolerantJson, IsNotFooledByNumbersThatAreNone) {
  const Json json{{"x", std::numeric_limits<double>::quiet_NaN()},
                  {"y", std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(number_at(json, "x"), std::nullopt);
  EXPECT_EQ(integer_at(json, "y"), std::nullopt);
}

TEST(TolerantJson, ReadsTextAndNumbersInOneAnothersPlace) {
  EXPECT_EQ(any_text_at(kValue, "whole"), "7");
  EXPECT_EQ(any_text_at(kValue, "yes"), "true");
  EXPECT_EQ(any_text_at(kValue, "list"), "");
  EXPECT_EQ(any_text_at(kValue, "none"), "");
  EXPECT_EQ(any_integer_at(kValue, "digits"), 3043);
  EXPECT_EQ(any_integer_at(kValue, "whole"), 7);
  EXPECT_EQ(any_integer_at(kValue, "real"), 1);
  EXPECT_EQ(any_integer_at(kValue, "none", -1), -1);
  EXPECT_EQ(any_integer_at(kValue, "text", -1), -1);
}

TEST(TolerantJson, FollowsAPath) {
  const Json json = Json::parse(R"({"token": {"project": {"id": "x"}}})");
  EXPECT_EQ(text_at_path(json, "token/project/id"), "x");
  EXPECT_EQ(text_at_path(json, "token/project"), "");
  EXPECT_EQ(text_at_path(json, "token/user/id"), "");
}

class StrictJson : public ::testing::Test {
 protected:
  Json json_ = Json::parse(R"({"name": "a", "nodes": 2, "rate": 0.5, "on": true,
    "words": ["x", "y"], "env": {"A": "1"}, "shape": "square",
    "cases": [{"n": 1}, {"n": "two"}], "limits": {"time": -1}})");
  JsonReader reader_{json_, "plan.json", "it is not meant to be edited"};
};

TEST_F(StrictJson, ReadsEveryType) {
  EXPECT_EQ(reader_.text("name"), "a");
  EXPECT_EQ(reader_.text_or_empty("missing"), "");
  EXPECT_EQ(reader_.integer("nodes"), 2);
  EXPECT_EQ(reader_.number("rate"), 0.5);
  EXPECT_TRUE(reader_.boolean("on"));
  EXPECT_THAT(reader_.texts("words"), ::testing::ElementsAre("x", "y"));
  EXPECT_EQ(reader_.text_map("env").at("A"), "1");
  EXPECT_EQ(reader_.choice<Shape>("shape"), Shape::square);
}

TEST_F(StrictJson, NamesTheFieldThePlaceAndTheAdvice) {
  EXPECT_EQ(error_of([&] { return reader_.text("nodes"); }),
            "plan.json: 'nodes' should be text\n  it is not meant to be edited");
  EXPECT_THAT(error_of([&] { return reader_.text("missing"); }),
              ::testing::HasSubstr("'missing' is missing"));
  EXPECT_THAT(error_of([&] { return reader_.choice<Shape>("name"); }),
              ::testing::HasSubstr("'name' should be round or square"));
}

TEST_F(StrictJson, NamesThePathOfWhatLiesDeeper) {
  EXPECT_THAT(error_of([&] { return reader_.fields("limits").text("time"); }),
              ::testing::HasSubstr("plan.json: limits: 'time' should be text"));
  const auto read_all = [&] {
    reader_.each("cases", [](const JsonReader& item) { (void)item.integer("n"); });
    return 0;
  };
  EXPECT_THAT(error_of(read_all),
              ::testing::HasSubstr("plan.json: cases[1]: 'n' should be a whole number"));
  EXPECT_THAT(error_of([&] { return reader_.fields("words").has("x"); }),
              ::testing::HasSubstr("plan.json: words: expected an object"));
}

TEST_F(StrictJson, RefusesNumbersThatDoNotFit) {
  const JsonReader limits = reader_.fields("limits");
  EXPECT_EQ(limits.integer("time"), -1);
  EXPECT_THAT(error_of([&] { return limits.integer<std::uint64_t>("time"); }),
              ::testing::HasSubstr("'time' should be a whole number"));
  json_["nodes"] = std::int64_t{1} << 40;
  EXPECT_THAT(error_of([&] { return reader_.integer("nodes"); }),
              ::testing::HasSubstr("'nodes' should be a smaller number"));
  EXPECT_EQ(reader_.integer<std::int64_t>("nodes"), std::int64_t{1} << 40);
}

}  // namespace
}  // namespace assay
