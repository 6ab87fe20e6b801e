#include <gtest/gtest.h>

#include "launch/modelarts/pre_start.h"

namespace assay::launch {
namespace {

TEST(PreStart, StaysAsItIsWhenNothingHasToBeTold) {
  EXPECT_FALSE(pre_start_script("export GLOG_v=3\n", {}));
  EXPECT_FALSE(pre_start_script("", {}));
}

TEST(PreStart, ExportsBehindWhatTheCodeBrings) {
  EXPECT_EQ(pre_start_script("set -x\npip install x.whl\n", {{"SINGLESERVER_MODE", "True"}}),
            "set -x\npip install x.whl\nexport SINGLESERVER_MODE=True\n");
}

TEST(PreStart, IsMadeWhereTheCodeBringsNone) {
  EXPECT_EQ(pre_start_script("", {{"A", "it's"}}), "#!/bin/bash\nexport A='it'\\''s'\n");
}

TEST(PreStart, TakesOutAModeOfAnEarlierRun) {
  EXPECT_EQ(pre_start_script("set -x\nexport SINGLESERVER_MODE=True\n", {}), "set -x\n");
}

}  // namespace
}  // namespace assay::launch
