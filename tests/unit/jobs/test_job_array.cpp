#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/job_array.h"

namespace assay::jobs {
namespace {

using testing::ElementsAre;

TEST(JobArray, IsARangeWithALimit) {
  const auto range = parse_array("0-3%2");
  ASSERT_TRUE(range);
  EXPECT_THAT(range->indices, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(range->limit, 2);
}

TEST(JobArray, IsAListOfNumbersRangesAndSteps) {
  EXPECT_THAT(parse_array("7,1,10-16:3")->indices, ElementsAre(1, 7, 10, 13, 16));
  EXPECT_EQ(parse_array("5")->limit, 0);
}

TEST(JobArray, WhatIsNotAnArrayIsRefused) {
  for (const char* text :
       {"",   "-",  "a",     "1-",      "-1",  "3-1",   "1,,2",        "1-5:0",     "1:2", "1%0",
        "1%", "%4", "1 - 3", "0-9%4%2", "1,1", "0-5,3", "99999999999", "0-1000001", "+1",  "1.5"})
    EXPECT_FALSE(parse_array(text)) << text;
}

TEST(JobArray, HasALargestSize) {
  EXPECT_EQ(parse_array("0-9999")->indices.size(), 10'000U);
  EXPECT_FALSE(parse_array("0-10000"));
  EXPECT_FALSE(parse_array("0-9999,10000"));
  EXPECT_EQ(parse_array("0-1000000:200")->indices.size(), 5'001U);
}

}  // namespace
}  // namespace assay::jobs
