#include <gmock/gmock.h>

#include "error_of.h"
#include "page/template.h"

namespace assay::page {
namespace {

using ::testing::HasSubstr;

std::string filled(std::string_view form, std::initializer_list<Field> fields) {
  return fill({"x.html", form, ""}, fields).str();
}

std::string refusal(std::string_view form, std::initializer_list<Field> fields) {
  return testing::error_of([&] { return filled(form, fields); });
}

TEST(Template, EscapesText) {
  EXPECT_EQ(filled("<p title=\"{{a}}\">{{b}}</p>", {{"a", "\"><script>"}, {"b", "1 < 2 & 'x'"}}),
            "<p title=\"&quot;&gt;&lt;script&gt;\">1 &lt; 2 &amp; &#39;x&#39;</p>");
}

TEST(Template, PutsHtmlAndNumbersAsTheyAre) {
  EXPECT_EQ(filled("{{{a}}} {{n}}", {{"a", Html("<b>x</b>")}, {"n", -7}}), "<b>x</b> -7");
}

TEST(Template, AValueIsNotATemplate) {
  EXPECT_EQ(filled("{{a}}{{b}}", {{"a", "{{b}}"}, {"b", "x"}}), "{{b}}x");
}

TEST(Template, LeavesASectionOutWhenItsValueIsEmptyOrFalse) {
  const std::string_view form = "<a{{#on}} class=\"on\"{{/on}}>{{#text}}: {{text}}{{/text}}</a>";
  EXPECT_EQ(filled(form, {{"on", true}, {"text", "x"}}), "<a class=\"on\">: x</a>");
  EXPECT_EQ(filled(form, {{"on", false}, {"text", ""}}), "<a></a>");
}

TEST(Template, SectionsNest) {
  const std::string_view form = "{{#a}}<{{#b}}!{{/b}}>{{/a}}";
  EXPECT_EQ(filled(form, {{"a", true}, {"b", true}}), "<!>");
  EXPECT_EQ(filled(form, {{"a", true}, {"b", false}}), "<>");
  EXPECT_EQ(filled(form, {{"a", false}, {"b", true}}), "");
}

TEST(Template, LineBreaksBetweenTagsAreForItsReader) {
  EXPECT_EQ(filled("<ul>\n  <li>{{a}}</li>\n</ul>\n", {{"a", "x\n  <y"}}),
            "<ul><li>x\n  &lt;y</li></ul>");
  EXPECT_EQ(filled("{{a}}\n  {{#b}}<p>{{/b}}\n", {{"a", "x"}, {"b", true}}), "x<p>");
}

TEST(Template, ALineBreakNextToTextIsABlank) {
  EXPECT_EQ(filled("<i\n  class=\"x\">one,\n  <b>two</b>\n  three</i>", {}),
            "<i class=\"x\">one, <b>two</b> three</i>");
}

TEST(Template, ALineBreakForThePageIsWritten) {
  EXPECT_EQ(filled("<p></p>{{\\n}}\n<p></p>", {}), "<p></p>\n<p></p>");
}

TEST(Template, EveryPlaceholderNeedsAValue) {
  EXPECT_THAT(refusal("{{a}}", {}), HasSubstr("x.html: no value for 'a'"));
  EXPECT_THAT(refusal("{{#a}}{{/a}}", {}), HasSubstr("no value for 'a'"));
  EXPECT_THAT(refusal("{{#a}}{{b}}{{/a}}", {{"a", false}}), HasSubstr("no value for 'b'"))
      << "in a section that is left out, too";
}

TEST(Template, EveryValueNeedsAPlaceholder) {
  EXPECT_THAT(refusal("{{a}}", {{"a", "x"}, {"b", "y"}}), HasSubstr("the field 'b'"));
}

TEST(Template, TextAndHtmlAreNotMixedUp) {
  EXPECT_THAT(refusal("{{{a}}}", {{"a", "<b>"}}), HasSubstr("not Html: 'a'"));
  EXPECT_THAT(refusal("{{a}}", {{"a", Html("<b>")}}), HasSubstr("not a text or number: 'a'"));
  EXPECT_THAT(refusal("{{a}}", {{"a", true}}), HasSubstr("not a text or number: 'a'"));
}

TEST(Template, WhatIsOpenedIsClosed) {
  EXPECT_THAT(refusal("{{#a}}", {{"a", true}}), HasSubstr("not closed: the section 'a'"));
  EXPECT_THAT(refusal("{{/a}}", {{"a", true}}), HasSubstr("not open: 'a'"));
  EXPECT_THAT(refusal("{{#a}}{{#b}}{{/a}}{{/b}}", {{"a", true}, {"b", true}}),
              HasSubstr("not open: 'a'"));
  EXPECT_THAT(refusal("<p>{{a</p>", {{"a", "x"}}), HasSubstr("not closed"));
}

}  // namespace
}  // namespace assay::page
