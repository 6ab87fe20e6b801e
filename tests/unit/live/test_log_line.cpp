#include <gtest/gtest.h>

#include "live/log_line.h"

namespace assay::live {
namespace {

TEST(LogLine, AnErrorIsWhatProgramsPrintAsOne) {
  for (const char* line :
       {"ERROR: no data", "RuntimeError: CUDA out of memory",
        "Traceback (most recent call last):", "java.lang.Exception", "[rank1] FATAL cannot bind",
        "Segmentation fault (core dumped)", "sh: 1: trin.py: not found: No such file or directory"})
    EXPECT_EQ(level_of(line), Level::error) << line;
}

TEST(LogLine, WordsThatOnlyHoldErrorAreNone) {
  for (const char* line : {"0 errors", "no error found", "error_rate 0.01", "top1-error: 0.2",
                           "terror", "errors_total 5", "", "e", "loss 0.5"})
    EXPECT_EQ(level_of(line), Level::text) << line;
}

TEST(LogLine, WarningsAreLessThanErrors) {
  EXPECT_EQ(level_of("UserWarning: deprecated"), Level::warning);
  EXPECT_EQ(level_of("[WARN] slow"), Level::warning);
  EXPECT_EQ(level_of("WARNING: then an error: bad"), Level::error);
}

TEST(LogLine, APerfLogLineIsNoErrorWhateverItSays) {
  EXPECT_EQ(level_of("[PerfLog] {\"event\": \"ERROR\"}"), Level::perf);
}

TEST(LogLine, TheTimeOfAPerfLogLineIsItsOwn) {
  EXPECT_EQ(time_of("[PerfLog] {\"metadata\": {\"time_ms\": 1794799617255}}"), 1794799617255);
  EXPECT_FALSE(time_of("{\"time_ms\": 1794799617255}"));
  EXPECT_FALSE(time_of("[PerfLog] {\"time_ms\": 12}"));
  EXPECT_FALSE(time_of("[PerfLog] {\"time_ms\": 99999999999999999999999}"));
  EXPECT_FALSE(time_of("[PerfLog] {\"time_ms\":"));
}

TEST(LogLine, IsShownAsATerminalWouldLeaveIt) {
  EXPECT_EQ(shown("\x1b[31mred\x1b[0m\r"), "red");
  EXPECT_EQ(shown(" 10%\r 20%\r 30%"), " 30%");
  EXPECT_EQ(shown(std::string_view("a\0b\x07", 4)), "ab");
  EXPECT_EQ(shown("\xff\xfe ok"), "\xEF\xBF\xBD\xEF\xBF\xBD ok");
}

}  // namespace
}  // namespace assay::live
