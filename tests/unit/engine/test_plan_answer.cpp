#include <gtest/gtest.h>

#include "engine/plan_answer.h"

namespace assay::engine {
namespace {

TEST(PlanAnswer, IsReadAsItWasWritten) {
  const auto planned = parse_plan_answer(plan_answer_line({.planned = Planned{"2 cases\n", 4, 8}}));
  ASSERT_TRUE(planned && planned->planned);
  EXPECT_FALSE(planned->fault);
  EXPECT_EQ(planned->planned->text, "2 cases\n");
  EXPECT_EQ(planned->planned->nodes, 4);
  EXPECT_EQ(planned->planned->procs, 8);

  const auto fault = parse_plan_answer(
      plan_answer_line({.fault = PlanAnswer::Fault{"no such workload", "suite.yaml:3:5", "null"}}));
  ASSERT_TRUE(fault && fault->fault);
  EXPECT_FALSE(fault->planned);
  EXPECT_EQ(fault->fault->message, "no such workload");
  EXPECT_EQ(fault->fault->where, "suite.yaml:3:5");
  EXPECT_EQ(fault->fault->advice, "null");
}

TEST(PlanAnswer, IsNothingWhenItIsSomethingElse) {
  for (const char* text :
       {"", "Segmentation fault", "[]", "{}", R"({"planned": {"text": "x"}})",
        R"({"planned": {"text": "x", "nodes": 5000000000, "procs": 1}})",
        R"({"planned": {"text": "x", "nodes": 1, "procs": 1}, "fault": {"message": "m"}})"})
    EXPECT_FALSE(parse_plan_answer(text)) << text;
}

}  // namespace
}  // namespace assay::engine
