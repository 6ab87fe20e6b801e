#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/mapping.h"
#include "config/yaml.h"
#include "error_of.h"

namespace assay::config {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Node parse(std::string_view text) {
  return parse_yaml(text, {"s.yaml", "", false});
}

TEST(Mapping, UnknownKeyNamesTheNearestAndThePlace) {
  EXPECT_THAT(error_of([] { return Mapping(parse("case: x\ncas: y\n"), "a case", {"case"}); }),
              StartsWith("s.yaml:2:1: unknown key 'cas' (did you mean 'case'?)"));
}

TEST(Mapping, MergeKeysAreNamedAsSuch) {
  EXPECT_THAT(error_of([] { return Mapping(parse("<<: {a: 1}\n"), "x", {"a"}); }),
              HasSubstr("merge keys are not supported"));
}

TEST(Mapping, WrongKindListsTheKeys) {
  EXPECT_EQ(error_of([] {
              return Mapping(parse("[1]\n"), "telemetry", {"interval", "enabled"});
            }),
            "s.yaml:1:1: expected a mapping for 'telemetry', got a list\n"
            "  its keys are: interval, enabled");
}

TEST(Mapping, MissingRequiredKeyIsNamed) {
  const Mapping map(parse("a: 1\n"), "a target", {"a", "metric"});
  EXPECT_THAT(error_of([&] { return map.at("metric"); }), HasSubstr("a target needs 'metric'"));
}

TEST(Mapping, KeyWithoutValueCountsAsAbsent) {
  const Mapping map(parse("a:\n"), "x", {"a"});
  EXPECT_FALSE(map.has("a"));
  EXPECT_EQ(map.text_or("a", "default"), "default");
}

TEST(Mapping, ChoiceDefaultsToTheFirstAndNamesTheNearest) {
  const Mapping map(parse("mode: lop\n"), "x", {"mode", "other"});
  EXPECT_EQ(map.choice("other", {"loop", "once"}), "loop");
  EXPECT_THAT(error_of([&] {
                return map.choice("mode", {"loop", "once"});
              }),
              HasSubstr("expected one of loop, once, got 'lop' (did you mean 'loop'?)"));
}

TEST(RequireKnown, ListsWhatIsKnown) {
  EXPECT_THAT(
      error_of([] {
        require_known(parse("x"), "workload", "matmull", {"matmul", "null"});
        return 0;
      }),
      HasSubstr("unknown workload 'matmull' (did you mean 'matmul'?)\n  known: matmul, null"));
}

}  // namespace
}  // namespace assay::config
