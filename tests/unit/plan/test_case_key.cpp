#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/case_key.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::node;

TEST(CaseKey, SixFieldsAreRead) {
  const CaseKey key = parse_case_key(node("resnet50:pytorch_1.13:A100:2:8:3"));
  EXPECT_EQ(key.model, "resnet50");
  EXPECT_EQ(key.framework, "pytorch_1.13");
  EXPECT_EQ(framework_family(key.framework), "pytorch");
  EXPECT_EQ(key.hardware, "A100");
  EXPECT_EQ(key.nodes, 2);
  EXPECT_EQ(key.procs, 8);
  EXPECT_EQ(key.repeats, 3);
  EXPECT_EQ(key.text(), "resnet50:pytorch_1.13:A100:2:8:3");
}

TEST(CaseKey, WrongNumberOfFieldsIsNamed) {
  EXPECT_THAT(error_of([] { return parse_case_key(node("a:b:c:1:1")); }),
              HasSubstr("s.yaml:1:1: a case key has 6 fields, got 5 in 'a:b:c:1:1'"));
  EXPECT_THAT(error_of([] { return parse_case_key(node("a:b:c:1:1:1:x")); }), HasSubstr("got 7"));
}

TEST(CaseKey, CountsMustBeSaneWholeNumbers) {
  for (const char* count : {"0", "-1", "x", "1.5", "", "01", "+1", "100001", "99999999999999"})
    EXPECT_THAT(
        error_of([&] { return parse_case_key(node("'a:b:c:" + std::string(count) + ":1:1'")); }),
        HasSubstr("nodes must be a whole number from 1 to 100000"))
        << count;
  EXPECT_THAT(error_of([] { return parse_case_key(node("a:b:c:1:4097:1")); }), HasSubstr("4096"));
  EXPECT_THAT(error_of([] { return parse_case_key(node("a:b:c:1:1:1001")); }), HasSubstr("1000"));
  EXPECT_EQ(parse_case_key(node("a:b:c:100000:4096:1000")).nodes, 100000);
}

TEST(CaseKey, WordsMustNotBeEmptyOrBreakFolders) {
  EXPECT_THAT(error_of([] { return parse_case_key(node("'a::c:1:1:1'")); }),
              HasSubstr("the framework is empty"));
  EXPECT_THAT(error_of([] { return parse_case_key(node("'../a:b:c:1:1:1'")); }),
              HasSubstr("must not contain spaces, '/'"));
  EXPECT_THAT(error_of([] { return parse_case_key(node("'a b:b:c:1:1:1'")); }),
              HasSubstr("spaces"));
}

TEST(CaseName, MustBeAFolderName) {
  const auto check = [](const std::string& name) {
    return error_of([&] {
      check_case_name(node("x"), name);
      return 0;
    });
  };
  EXPECT_EQ(check("my-llm: fast"), "no error");
  EXPECT_EQ(check(std::string(200, 'x')), "no error");
  EXPECT_THAT(check(std::string(201, 'x')), HasSubstr("at most 200 bytes"));
  for (const char* name : {".", "..", "a/b", "/", "../x"})
    EXPECT_THAT(check(name), HasSubstr("must not contain '/'")) << name;
  for (const char* name : {"a\nb", "a\tb", "a\x1b[31m", "a\xff"})
    EXPECT_THAT(check(name), HasSubstr("control characters")) << name;
  EXPECT_THAT(check(" a"), HasSubstr("space"));
  EXPECT_THAT(check(""), HasSubstr("empty"));
  for (const char* name : {"plan.json", "ranks.csv", "job.json", "push.json", "logs"})
    EXPECT_THAT(check(name), HasSubstr("cannot be named")) << name;
}

}  // namespace
}  // namespace assay::plan
