#include <new>
#include <regex>
#include <vector>

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

TEST(NoticePage, FollowsTheReadersPreference) {
  const Notice notice{503, "The server failed.", "", ""};
  const auto language = [&](const std::string& accepted) {
    const std::string body = notice_page(notice, accepted).body;
    return body.substr(body.find("lang=\"") + 6, 2);
  };
  EXPECT_EQ(language("zh;q=0.3, en;q=0.9"), "en");
  EXPECT_EQ(language("en;q=0.3, zh-TW;q=0.9"), "zh");
  EXPECT_EQ(language("de, x-zhx, fr"), "en");
  EXPECT_EQ(language(""), "en");
}

// What the reader sees of a page, without a program's own output.
std::string shown(const serve::HttpResponse& page) {
  static const std::regex unseen("<style>[^]*?</style>|<pre>[^]*?</pre>|<[^>]*>");
  return std::regex_replace(page.body, unseen, " ");
}

TEST(NoticePage, InChineseHasNoEnglishSentence) {
  // Names stay as they are; two English words in a row are a sentence of ours.
  static const std::regex english("[A-Za-z]{2,} [a-z]{2,}");
  const std::vector<Notice> notices{
      {404, "There is no such endpoint.", "", ""},
      {508, "This endpoint leads to itself.", "Name the port of the job's own program.", ""},
      {401, "You are not signed in to this endpoint.",
       "Open the endpoint from the page of its job.", ""},
      {403, "This link was used, or is too old.", "Open the endpoint from the page of the job.",
       ""},
      {403, "The request comes from a page of another site.", "", ""},
      {503, "Too many connections are open.", "Close some, and try again.", ""},
      {502, "What was opened as 'ui' cannot be shown: the answer has a malformed header.",
       "The program that listens there has to speak HTTP.", ""},
      {502,
       "What was opened as 'ui' cannot be shown: it has closed the connection without an "
       "answer.",
       "", ""},
      {502, "Jupyter has ended: exit 1",
       "Open it again from the page of the job: this restarts it.",
       "Traceback: a log line stays as it is"},
      {502, "nothing listens on port 8080 of the node",
       "The job's program has to listen there, on 127.0.0.1 of the node of its first rank. It may "
       "not be ready yet, or it has ended: see the console of the job.",
       ""},
      {503, "job 7 has no programs that run at the moment",
       "Endpoints can be opened while the job runs.", ""},
      {502, "Jupyter is not installed on the node any more",
       "Install it on the node, or in the environment that the job's command uses.", ""}};
  for (const Notice& notice : notices) {
    const std::string text = shown(notice_page(notice, "zh-CN,zh;q=0.9"));
    EXPECT_FALSE(std::regex_search(text, english)) << text;
    EXPECT_TRUE(std::regex_search(shown(notice_page(notice, "en")), english)) << notice.what;
  }
  for (const ErrorKind kind : {ErrorKind::usage, ErrorKind::environment, ErrorKind::internal}) {
    const Error error(kind, "job 7 has no endpoint 'x'", "",
                      "ports are named when a job is submitted: --endpoint NAME=PORT");
    const std::string text = shown(failure_page(error, "zh"));
    EXPECT_FALSE(std::regex_search(text, english)) << text;
  }
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
