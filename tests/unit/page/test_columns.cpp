#include <gmock/gmock.h>

#include "page/text_width.h"

namespace assay::page {
namespace {

using ::testing::ElementsAre;

TEST(Columns, CountsWideAndCombiningCharacters) {
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("é–±"), 3U);
  EXPECT_EQ(columns_of("模型"), 4U);
  EXPECT_EQ(columns_of("e\u0301"), 1U);
  EXPECT_EQ(columns_of(""), 0U);
}

TEST(Columns, CutsToColumns) {
  EXPECT_EQ(cut_to("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to("模型模型", 4), "模…");
  EXPECT_EQ(cut_middle("resnet50:libtorch:A100:2:8:3", 16), "resnet50:l…2:8:3");
  EXPECT_EQ(columns_of(cut_middle("resnet50:libtorch:A100:2:8:3", 16)), 16U);
}

TEST(Columns, WrapsAtBlanksAndBreaksLongWords) {
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("abcdefghij", 4), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(wrap("", 4), ElementsAre(""));
}

TEST(Columns, WrapsBetweenWideCharactersAndBeginsNoLineWithASignThatCloses) {
  EXPECT_THAT(wrap("训练发散了，请降低学习率", 10),
              ElementsAre("训练发散", "了，请降低", "学习率"));
  EXPECT_THAT(wrap("用 assay 重新运行", 8), ElementsAre("用 assay", "重新运行"));
}

TEST(Columns, WrapsNeitherBehindASignThatOpensNorBeforeAPercentSign) {
  EXPECT_THAT(wrap("标准（文件如此", 6), ElementsAre("标准", "（文件", "如此"));
  EXPECT_THAT(wrap("only 10.6 % of it", 10), ElementsAre("only", "10.6 % of", "it"));
  EXPECT_THAT(wrap("占 92 %，其余", 7), ElementsAre("占", "92 %，", "其余"));
}

}  // namespace
}  // namespace assay::page
