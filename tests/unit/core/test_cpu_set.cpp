#include <gtest/gtest.h>

#include "core/cpu_set.h"
#include "core/json_fields.h"
#include "error_of.h"

namespace assay {
namespace {

TEST(CpuSet, IsReadAndWrittenAsTheKernelDoes) {
  for (const char* text : {"0", "0-3", "0-3,8", "1,3,5-7"})
    EXPECT_EQ(CpuSet::parse(text).value().text(), text);
  EXPECT_EQ(CpuSet::parse("8,0-2,1\n").value().text(), "0-2,8");
  EXPECT_TRUE(CpuSet::parse("").value().empty());
}

TEST(CpuSet, RefusesWhatIsNoList) {
  for (const char* text : {"a", "3-1", "-1", "1,", ",", "0-", "0-99999999", "1 2"})
    EXPECT_EQ(CpuSet::parse(text), std::nullopt) << text;
}

TEST(CpuSet, KnowsWhatItHasBeyondAnother) {
  const CpuSet set({0, 1, 5});
  EXPECT_EQ(set.without(CpuSet({1, 2})).text(), "0,5");
  EXPECT_TRUE(set.contains(5));
  EXPECT_FALSE(set.contains(2));
  CpuSet both = set;
  both.add(CpuSet({4, 5}));
  EXPECT_EQ(both.text(), "0-1,4-5");
}

TEST(CpuSet, ThisThreadMayRunSomewhere) {
  EXPECT_GE(CpuSet::usable().size(), 1u);
}

TEST(Bind, SurvivesJson) {
  const Bind bind{BindMode::listed, {CpuSet({0, 1}), CpuSet({2})}};
  EXPECT_EQ(fields_from_json<Bind>(fields_to_json(bind), "x"), bind);
  EXPECT_EQ(fields_to_json(bind)["lists"][0], "0-1");
  EXPECT_NE(testing::error_of([] {
              return fields_from_json<Bind>(Json{{"mode", "listed"}, {"lists", {"x"}}}, "x");
            }),
            "no error");
}

}  // namespace
}  // namespace assay
