#include <gtest/gtest.h>

#include "core/error.h"

namespace assay {
namespace {

TEST(Error, RendersPlaceMessageAndAdvice) {
  const Error error(ErrorKind::config, "not a valid size: '5x'", "suite.yaml:3:5", "write '5 GiB'");
  EXPECT_STREQ(error.what(), "suite.yaml:3:5: not a valid size: '5x'\n  write '5 GiB'");
}

TEST(Error, ItsKindDecidesTheExitCode) {
  EXPECT_EQ(exit_code(ErrorKind::usage), 2);
  EXPECT_EQ(exit_code(ErrorKind::config), 2);
  EXPECT_EQ(exit_code(ErrorKind::environment), 3);
  EXPECT_EQ(exit_code(ErrorKind::launch), 4);
  EXPECT_EQ(exit_code(ErrorKind::round_failed), 5);
  EXPECT_EQ(exit_code(ErrorKind::invalid), 6);
  EXPECT_EQ(exit_code(ErrorKind::internal), 1);
}

TEST(Error, HelpTextsListEveryExitCodeOnce) {
  EXPECT_EQ(exit_codes(),
            "  0  ok\n  2  usage or configuration\n  3  environment or cluster not fit\n"
            "  4  launch failed\n  5  a round failed\n  6  finished but INVALID\n");
}

}  // namespace
}  // namespace assay
