#include <type_traits>

#include <gtest/gtest.h>

#include "page/markup.h"

namespace assay::page {
namespace {

TEST(Markup, EscapesAndCleans) {
  EXPECT_EQ(escape_markup("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
  EXPECT_EQ(escape_markup(std::string_view("a\0b\x01\x1b[31mc", 10)), "abc");
  EXPECT_EQ(escape_markup("\xEF\xBF\xBE\xEF\xBF\xBF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(escape_markup("\xff"), "\xEF\xBF\xBD");
}

TEST(Markup, TextNeverBecomesHtmlByItself) {
  EXPECT_FALSE((std::is_convertible_v<std::string, Html>));
  EXPECT_FALSE((std::is_convertible_v<const char*, Html>));
  EXPECT_EQ(Html::text("<b>").str(), "&lt;b&gt;");
}

TEST(Markup, FormatsNumbersAndHtmlAsTheyAreAndEscapesText) {
  EXPECT_EQ(markup("<b class=\"{}\">{:.1f} {}</b>", "a\"b", 2.25, Html("<i>x</i>")).str(),
            "<b class=\"a&quot;b\">2.2 <i>x</i></b>");
  EXPECT_EQ(markup("{} {}", std::string("<"), std::string_view("&")).str(), "&lt; &amp;");
}

}  // namespace
}  // namespace assay::page
