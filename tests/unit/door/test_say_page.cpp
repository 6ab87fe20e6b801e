#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "door/say_page.h"

namespace assay::door {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(NoticePage, SaysWhatIsWrongInTheReadersLanguage) {
  const Notice notice{503, "it <b>ended</b>", "start it again", "line 1\nline 2"};
  const serve::HttpResponse page = notice_page(notice, "en-US,zh;q=0.5");
  EXPECT_EQ(page.status, 503);
  EXPECT_THAT(page.body, StartsWith("<!doctype html>\n<html lang=\"en\">"));
  EXPECT_THAT(page.body, AllOf(HasSubstr("it &lt;b&gt;ended"), HasSubstr("<p>start it again</p>"),
                               HasSubstr("<pre>line 1\nline 2\n</pre>")));
  EXPECT_THAT(notice_page(notice, "zh-CN,en;q=0.5").body, HasSubstr("<html lang=\"zh-CN\">"));
}

TEST(NoticePage, LeavesOutWhatThereIsNot) {
  EXPECT_THAT(notice_page({404, "gone", "", ""}, "").body,
              AllOf(Not(HasSubstr("<pre>")), Not(HasSubstr("<p></p>")), HasSubstr("<p>gone</p>")));
}

}  // namespace
}  // namespace assay::door
