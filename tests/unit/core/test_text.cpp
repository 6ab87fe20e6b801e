#include <gtest/gtest.h>

#include "core/error.h"
#include "core/text.h"

namespace assay {
namespace {

const std::vector<std::string> kKeys{"case", "cases", "config", "telemetry"};

TEST(Counted, HasTheFormThatFitsTheNumber) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(std::size_t{3}, "step"), "3 steps");
  EXPECT_EQ(counted(1, "process", "processes"), "1 process");
  EXPECT_EQ(counted(2, "process", "processes"), "2 processes");
}

TEST(Nearest, FindsALikelyTypo) {
  EXPECT_EQ(nearest("telemetri", kKeys), "telemetry");
  EXPECT_EQ(nearest("Cases", kKeys), "cases");
  EXPECT_EQ(nearest("caes", kKeys), "case");  // two letters exchanged
}

TEST(Nearest, DoesNotGuessWhenNothingIsNear) {
  EXPECT_EQ(nearest("bananas", kKeys), std::nullopt);
  EXPECT_EQ(nearest("", kKeys), std::nullopt);
}

TEST(ShellQuote, LeavesHarmlessWordsAlone) {
  EXPECT_EQ(shell_quote("/usr/bin/env"), "/usr/bin/env");
  EXPECT_EQ(shell_quote("lr=1e-4"), "lr=1e-4");
}

TEST(ShellQuote, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("two words"), "'two words'");
  EXPECT_EQ(shell_quote("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(Expand, ReplacesNamesAndKeepsDoubledBraces) {
  EXPECT_EQ(expand("rank {rank} of {n} {{x}}", {{"rank", "3"}, {"n", "8"}}, "here"),
            "rank 3 of 8 {x}");
}

TEST(Expand, LeavesTheBracesOfOtherLanguagesAlone) {
  for (const char* text : {"awk '{print $1}'", "${HOME}", R"({"a": {"b": 1}})", "{ echo hi; }", "{",
                           "}", "{}", "a{1,2}", "{{", "}}"})
    EXPECT_EQ(expand(text, {}, "here"), text);
}

TEST(Expand, TakesALongTextInOneGo) {
  // With the square of its length this would take minutes.
  const std::string text(4U << 20, 'x');
  EXPECT_EQ(expand(text + "{n}", {{"n", "8"}}, "here"), text + "8");
}

TEST(Expand, NamesAnUnknownPlaceholderWithItsPlace) {
  try {
    (void)expand("{rnk}", {{"rank", "3"}}, "suite.yaml:3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "suite.yaml:3");
    EXPECT_NE(error.message().find("did you mean 'rank'"), std::string::npos);
  }
}

TEST(Printable, DropsEscapesAndReplacesInvalidBytes) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m\x07 ok\ttab\n"), "red ok\ttab\n");
  EXPECT_EQ(printable("a\xff\xfe"
                      "b"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(printable("\xe2\x82\xac"), "€");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(printable("\x1b]0;title\x07text"), "text");
  EXPECT_EQ(printable("\x1b["), "");
  EXPECT_EQ(printable("a\u0085\u009b\u202e\u2069z \u00a0é\u200f"), "az \u00a0é\u200f");
}

TEST(Ellipsize, CountsCharactersNotBytes) {
  EXPECT_EQ(ellipsize("naïve", 5), "naïve");
  EXPECT_EQ(ellipsize("naïvely", 5), "naïv…");
}

}  // namespace
}  // namespace assay
