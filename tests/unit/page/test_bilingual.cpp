#include <gmock/gmock.h>

#include "page/bilingual.h"
#include "page/document.h"

namespace assay::page {
namespace {

using lang::Language;
using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(std::string_view body) {
  return document("Summary", Html(std::string(body)));
}

TEST(Bilingual, KeepsThePageInEnglishAndBringsItsTextsAlong) {
  const std::string page = bilingual(page_of("<h2>Summary</h2>"), Language::english);
  EXPECT_THAT(page, HasSubstr("<h2>Summary</h2>"));
  EXPECT_THAT(page, HasSubstr(R"(["Summary","汇总"])"));
  EXPECT_THAT(page, HasSubstr(R"("first":"en")"));
}

TEST(Bilingual, WritesThePageInChinese) {
  const std::string page = bilingual(page_of("<h2 class=\"x\">Summary</h2>"), Language::chinese);
  EXPECT_THAT(page, HasSubstr("<h2 class=\"x\">汇总</h2>"));
  EXPECT_THAT(page, HasSubstr("<html lang=\"zh-CN\">"));
}

TEST(Bilingual, TranslatesTitlesAndLabels) {
  const std::string page =
      bilingual(page_of("<td data-label=\"Result\" title=\"VALID\" class=\"note\">1</td>"),
                Language::chinese);
  EXPECT_THAT(page, HasSubstr("<td data-label=\"结果\" title=\"有效\" class=\"note\">1</td>"));
}

TEST(Bilingual, LeavesCodeAlone) {
  const std::string page =
      bilingual(page_of("<code>note</code> <pre>Summary</pre><p>note</p>"), Language::chinese);
  EXPECT_THAT(page, HasSubstr("<code>note</code> <pre>Summary</pre><p>提示</p>"));
}

TEST(Bilingual, LeavesNamesAlone) {
  const std::string page = bilingual(
      page_of("<div translate=\"no\" title=\"note\"><div>note</div>note</div><p>note</p>"),
      Language::chinese);
  EXPECT_THAT(page, HasSubstr("<div translate=\"no\" title=\"note\"><div>note</div>note</div>"
                              "<p>提示</p>"));
}

TEST(Bilingual, KeepsTextsEscaped) {
  const std::string page =
      bilingual(page_of("<p>there is no command &#39;&lt;b&gt;&#39;</p>"), Language::chinese);
  EXPECT_THAT(page, HasSubstr("<p>没有命令 &#39;&lt;b&gt;&#39;</p>"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
}

TEST(Bilingual, NamesItsScriptInThePolicyOfThePage) {
  static constexpr Asset kScript{"a.js", "1", "00"};
  const std::string page = bilingual(document("a", Html("b"), &kScript), Language::english);
  EXPECT_THAT(page, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(page, HasSubstr("' '" + script_source(kScript) + "'"));
}

}  // namespace
}  // namespace assay::page
