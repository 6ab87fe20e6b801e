#include <gmock/gmock.h>

#include "error_of.h"
#include "lang/po.h"

namespace assay::lang {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(Po, ReadsMessagesAndPlurals) {
  const auto messages = read_po(
      "# a comment\n"
      "msgid \"\"\nmsgstr \"Language: zh_CN\\n\"\n"
      "\n"
      "msgid \"Report: \"\nmsgstr \"报告：\"\n"
      "msgid \"{} round\"\nmsgid_plural \"{} rounds\"\nmsgstr[0] \"{} 轮\"\n",
      "a.po");
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].english, "Report: ");
  EXPECT_EQ(messages[0].translation, "报告：");
  EXPECT_EQ(messages[1].plural, "{} rounds");
  EXPECT_EQ(messages[1].line, 7);
}

TEST(Po, JoinsTheLinesOfAText) {
  const auto messages =
      read_po("msgid \"\"\n\"a \\\"b\\\"\\\\ \"\n\"c\"\nmsgstr \"d\\n\"\n\"e\"", "a.po");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].english, "a \"b\"\\ c");
  EXPECT_EQ(messages[0].translation, "d\ne");
}

TEST(Po, PassesOverWhatIsNotTranslated) {
  EXPECT_TRUE(read_po("msgid \"a\"\nmsgstr \"\"\n", "a.po").empty());
  EXPECT_TRUE(read_po("", "a.po").empty());
}

TEST(Po, NamesTheLineOfAFault) {
  EXPECT_THAT(error_of([] { return read_po("\nmsgxx \"a\"\n", "a.po"); }), HasSubstr("a.po:2"));
  EXPECT_THAT(error_of([] { return read_po("msgid a\n", "a.po"); }), HasSubstr("double quotes"));
  EXPECT_THAT(error_of([] { return read_po("\"a\"\n", "a.po"); }), HasSubstr("keyword"));
  EXPECT_THAT(error_of([] { return read_po("msgid \"a\\\"\n", "a.po"); }), HasSubstr("backslash"));
}

}  // namespace
}  // namespace assay::lang
