#include <gtest/gtest.h>

#include "http/head_syntax.h"

namespace assay::http {
namespace {

TEST(HeadSyntax, ATokenHasNoSeparators) {
  EXPECT_TRUE(is_token("Content-Length"));
  EXPECT_TRUE(is_token("x!#$%&'*+.^_`|~9"));
  for (const char* text : {"", "a b", "a:", "a\t", "\xC3\xA4", "a\r", "(a)", "\"a\""})
    EXPECT_FALSE(is_token(text)) << text;
}

TEST(HeadSyntax, ATabIsTheOnlyControlCharacterThatIsTaken) {
  EXPECT_FALSE(has_control("text/html;\tcharset=\"utf-8\" \xC3\xA4"));
  EXPECT_FALSE(has_control(""));
  for (const std::string_view text : {"a\rb", "a\nb", "\x7F", "\x01"})
    EXPECT_TRUE(has_control(text));
  EXPECT_TRUE(has_control(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace assay::http
