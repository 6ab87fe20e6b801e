// AMX that the processor has and a program cannot use.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "train/base/onednn_limit.h"

namespace assay::train {
namespace {

TEST(OnednnLimitTest, TilesWithoutALayoutAreNotUsable) {
  EXPECT_TRUE(amx_usable({true, 0x20, 1}));
  EXPECT_FALSE(amx_usable({true, 0x20, 0}));  // the hypervisor leaves the answer empty
  EXPECT_FALSE(amx_usable({true, 0x1C, 1}));  // or ends before it: what is read is of another leaf
  EXPECT_FALSE(amx_usable({false, 0x20, 1}));
}

TEST(OnednnLimitTest, WhatTheUserHasSetStays) {
  const char* const before = std::getenv("ONEDNN_MAX_CPU_ISA");
  const std::string kept = before != nullptr ? before : "";
  ASSERT_EQ(::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1), 0);
  EXPECT_FALSE(keep_onednn_from_broken_amx());
  EXPECT_STREQ(std::getenv("ONEDNN_MAX_CPU_ISA"), "AVX2");
  if (before != nullptr)
    ::setenv("ONEDNN_MAX_CPU_ISA", kept.c_str(), 1);
  else
    ::unsetenv("ONEDNN_MAX_CPU_ISA");
}

}  // namespace
}  // namespace assay::train
