#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json_skim.h"
#include "error_of.h"

namespace assay {
namespace {

using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> members(std::string_view text) {
  std::vector<std::string> out;
  each_json_member(text, "file", [&](std::string_view key, std::string_view value) {
    out.push_back(std::string(key) + "=" + std::string(value));
  });
  return out;
}

TEST(JsonSkim, GivesTheTextOfEveryMember) {
  EXPECT_THAT(members(R"( {"a": 1, "b" : [1, {"}": "]"}] ,"c":"x\"},"} )"),
              ElementsAre("a=1", R"(b=[1, {"}": "]"}])", R"(c="x\"},")"));
  EXPECT_THAT(members("{}"), ElementsAre());
}

TEST(JsonSkim, GivesTheTextOfEveryElement) {
  std::vector<std::string> out;
  each_json_element("[ 1 , [2], \"]\" ]", "file",
                    [&](std::string_view value) { out.emplace_back(value); });
  EXPECT_THAT(out, ElementsAre("1", "[2]", "\"]\""));
}

TEST(JsonSkim, EveryCutTextIsAnError) {
  const std::string whole = R"({"a": [1, "two\\"], "b": {"c": null}})";
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error_of([&] { return members(whole.substr(0, size)); }),
                HasSubstr("not valid JSON"))
        << size;
}

TEST(JsonSkim, WhatIsNoObjectOrHasTextBehindItIsAnError) {
  for (const char* text : {"[1]", "1", "{a: 1}", "{\"a\" 1}", "{\"a\": }", "{} {}", "{\"a\": 1,}"})
    EXPECT_THAT(error_of([&] { return members(text); }), HasSubstr("not valid JSON")) << text;
}

TEST(JsonSkim, AValueOfAMillionLevelsIsAnErrorAndNotACrash) {
  EXPECT_THAT(error_of([] { return members("{\"a\": " + std::string(1'000'000, '[')); }),
              HasSubstr("fewer levels"));
}

}  // namespace
}  // namespace assay
