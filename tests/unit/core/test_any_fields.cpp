#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/any_fields.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

struct Part {
  int number = 7;
  static void fields(auto& self, auto&& field) { field("number", self.number); }
};
struct Whole {
  std::string name = "none";
  std::optional<int> count{};
  std::vector<int> list{};
  std::vector<Part> parts{};
  Part part{};
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field.optional("count", self.count);
    field("list", self.list);
    field("parts", self.parts);
    field("part", self.part);
  }
};

TEST(AnyFields, AreReadAsTheyWereWritten) {
  Whole whole{.name = "x", .count = 3, .list = {1, 2}, .parts = {{4}}, .part = {5}};
  const auto read = fields_from_any<Whole>(fields_to_json(whole));
  EXPECT_EQ(read.name, "x");
  EXPECT_EQ(read.count, 3);
  EXPECT_THAT(read.list, ElementsAre(1, 2));
  ASSERT_EQ(read.parts.size(), 1U);
  EXPECT_EQ(read.parts[0].number, 4);
  EXPECT_EQ(read.part.number, 5);
}

TEST(AnyFields, WhatIsMissingOrOfAnotherFormHasItsDefault) {
  for (const Json& json :
       {Json(), Json(3), Json::array(), Json::object(),
        Json{{"name", 3}, {"count", "three"}, {"list", 4}, {"parts", "x"}, {"part", true}},
        Json{{"name", nullptr}, {"count", 1e300}, {"part", {{"number", 1LL << 40}}}}}) {
    const auto read = fields_from_any<Whole>(json);
    EXPECT_EQ(read.name, "none") << json;
    EXPECT_EQ(read.count, std::nullopt) << json;
    EXPECT_TRUE(read.list.empty()) << json;
    EXPECT_TRUE(read.parts.empty()) << json;
    EXPECT_EQ(read.part.number, 7) << json;
  }
}

TEST(AnyFields, ItemsOfAnotherFormAreLeftOut) {
  const Json json{{"list", {1, "x", 2.5, nullptr, 2}}, {"parts", {3, {{"number", 4}}, "x"}}};
  const auto read = fields_from_any<Whole>(json);
  EXPECT_THAT(read.list, ElementsAre(1, 2));
  ASSERT_EQ(read.parts.size(), 1U);
  EXPECT_EQ(read.parts[0].number, 4);
}

}  // namespace
}  // namespace assay
