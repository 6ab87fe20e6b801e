#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
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

TEST(FailurePage, TellsWhatIsNotThereFromWhatCannotBeToldNow) {
  const auto page = [](const std::exception& error) { return failure_page(error, "en"); };
  const serve::HttpResponse wrong =
      page(Error(ErrorKind::usage, "job has no endpoint 'x'", "", "name it"));
  EXPECT_EQ(wrong.status, 404);
  EXPECT_THAT(wrong.body, AllOf(HasSubstr("job has no endpoint"), HasSubstr("name it")));
  const serve::HttpResponse away = page(Error(ErrorKind::environment, "disk I/O error", "/data"));
  EXPECT_EQ(away.status, 503);
  EXPECT_THAT(away.body, AllOf(HasSubstr("Try again"), Not(HasSubstr("disk"))));
  EXPECT_EQ(page(Error(ErrorKind::internal, "a defect")).status, 500);
  EXPECT_EQ(page(std::bad_alloc()).status, 500);
}

}  // namespace
}  // namespace assay::door
