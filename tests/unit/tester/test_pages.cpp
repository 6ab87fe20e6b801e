#include <gmock/gmock.h>

#include "sound_page.h"
#include "tester/board_pages.h"
#include "tester/comparison_page.h"
#include "tester/pages.h"
#include "tester/tester_assets.h"

namespace assay::tester {
namespace {

using ::testing::Contains;
using testing::expect_sound_page;
using testing::has;
using ::testing::HasSubstr;
using ::testing::Pair;

// Markup, quotes, control characters, an escape sequence, bytes that are not UTF-8, and marks that
// turn the direction of what follows.
const std::string kEvil =
    "</script><script>alert(1)</script>\"'><img src=x "
    "onerror=alert(1)>\x01\x1b[31m\xff\u202e\u2066";

TestRecord test_of(TestStatus status) {
  TestRecord test;
  test.id = "20261115-ab3dE9";
  test.status = status;
  test.created = "2026-11-15T10:15:00.250Z";
  test.verdict = "VALID";
  if (status == TestStatus::accepted)
    test.answer = {
        {"metrics", {{"quick", {{"p_whole", {{"value", 1200}, {"unit", "samples/s"}}}}}}},
        {"evidence",
         {{"seal",
           {{"state", "ok"}, {"text", "sealed"}, {"fingerprint", "SHA256:x"}, {"signer", "lab"}}},
          {"rounds", Json::array()}}}};
  if (status == TestStatus::refused)
    test.answer = {{"reasons",
                    {{{"message", "the evidence is not whole"}},
                     {{"metric", "p_whole"}, {"claimed", 12}, {"recomputed", 11.5}}}}};
  return test;
}

TestRecord hostile_test(TestStatus status) {
  TestRecord test = test_of(status);
  test.id = test.token = test.name = test.suite = test.run_id = test.created = test.finished =
      kEvil;
  test.system = {{kEvil, {{"host", kEvil}, {"list", {kEvil, kEvil}}}}};
  test.ais = test.system;
  if (status == TestStatus::accepted)
    test.answer = {{"metrics", {{kEvil, {{kEvil, {{"value", 1}, {"unit", kEvil}}}}}}},
                   {"evidence",
                    {{"seal",
                      {{"state", kEvil},
                       {"text", kEvil},
                       {"fingerprint", kEvil},
                       {"signer", kEvil},
                       {"signed_at", kEvil}}},
                     {"rounds",
                      {{{"case", kEvil},
                        {"round", kEvil},
                        {"integrity", {{"state", kEvil}, {"text", kEvil}}}}}}}}};
  if (status == TestStatus::refused)
    test.answer = {
        {"reasons",
         {{{"message", kEvil}}, {{"case", kEvil}, {"metric", kEvil}, {"claimed", kEvil}}}}};
  return test;
}

Json list_of(Json tests) {
  return {{"page", 2}, {"per_page", 1}, {"total", 3}, {"tests", std::move(tests)}};
}

void expect_harmless(const std::string& page) {
  expect_sound_page(page, "/");
  for (const char* text : {"<img", "<script", "\x01", "\x1b", "\xff", "\u202e", "\u2066"})
    EXPECT_FALSE(has(page, text)) << text;
}

TEST(Pages, HostileTextStaysText) {
  for (const TestStatus status :
       {TestStatus::open, TestStatus::uploading, TestStatus::accepted, TestStatus::refused})
    expect_harmless(test_page(hostile_test(status)).body);
  Json row;
  for (const char* key :
       {"test_id", "name", "suite", "status", "verdict", "by", "created", "machine"})
    row[key] = kEvil;
  expect_harmless(list_page(list_of(Json::array({row})), {{"status", kEvil}}).body);
  expect_harmless(page_of(serve::Refusal(404, kEvil, kEvil, kEvil)).body);
}

TEST(Pages, TheHeadlineOfACaseComesFirst) {
  TestRecord test = test_of(TestStatus::accepted);
  test.answer["metrics"]["quick"]["time_to_target"] = {
      {"value", 12}, {"unit", "s"}, {"role", "headline"}};
  const std::string page = test_page(test).body;
  EXPECT_LT(page.find("time_to_target"), page.find("p_whole"));
  EXPECT_NE(page.find("p_whole"), std::string::npos);
}

TEST(Pages, NothingMayRunOrBeLoaded) {
  for (const serve::HttpResponse& page :
       {test_page(test_of(TestStatus::open)), list_page(list_of(Json::array()), {}),
        page_of(serve::Refusal(404, "not_found", "nothing here"))})
    EXPECT_THAT(page.headers,
                Contains(Pair("Content-Security-Policy",
                              HasSubstr("default-src 'none'; style-src 'unsafe-inline'; "
                                        "img-src data:; base-uri 'none'; "
                                        "form-action 'self'; frame-ancestors 'none'"))));
}

TEST(Pages, AnAcceptedTestShowsItsSealAndMetrics) {
  const std::string page = test_page(test_of(TestStatus::accepted)).body;
  for (const char* text : {"aria-label=\"Verdict: VALID\"", "/tests/20261115-ab3dE9/report.html",
                           "<b>1,200</b> <span class=\"unit\">samples/s</span>"})
    EXPECT_TRUE(has(page, text)) << text;
}

TEST(Pages, ARefusedTestSaysWhy) {
  const std::string page = test_page(test_of(TestStatus::refused)).body;
  EXPECT_FALSE(has(page, "Verdict:"));
  EXPECT_TRUE(has(page, "<th scope=\"row\" colspan=\"4\">the evidence is not whole</th>"));
  EXPECT_TRUE(has(page, "<th scope=\"row\">the run</th><td data-label=\"What\">p_whole</td>"));
}

TEST(Pages, TheListLinksToItsNeighbours) {
  const std::string page =
      list_page(list_of(Json::array({Json{{"test_id", "a"}}})), {{"status", "open"}}).body;
  EXPECT_TRUE(has(page, "<a href=\"/tests?status=open&amp;page=1\">← newer</a>"));
  EXPECT_TRUE(has(page, "<span>page 2 of 3</span>"));
  EXPECT_TRUE(has(page, "<a href=\"/tests?status=open&amp;page=3\">older →</a>"));
  EXPECT_TRUE(has(page, "<a href=\"/tests?status=open\" class=\"on\">open</a>"));
}

TEST(Pages, AnEmptyListSaysHowToSendATest) {
  EXPECT_TRUE(has(list_page(list_of(Json::array()), {}).body, "assay push RUN --to URL"));
}

TEST(Pages, ARefusalKeepsItsStatus) {
  serve::Refusal refusal(429, "too_often", "too many requests", "wait");
  refusal.retry_after_s = 7;
  const serve::HttpResponse page = page_of(refusal);
  EXPECT_EQ(page.status, 429);
  EXPECT_THAT(page.headers, Contains(Pair("Retry-After", "7")));
  EXPECT_TRUE(has(page.body, "<h1>too many requests</h1><p class=\"verdict\">wait</p>"));
}

// Placeholders and values agree, or filling throws; what no page fills would go unchecked.
TEST(Pages, EveryTemplateIsFilled) {
  const std::string pages =
      test_page(test_of(TestStatus::accepted)).body + test_page(test_of(TestStatus::refused)).body +
      list_page(list_of(Json::array()), {}).body + board_page({}).body + comparison_page({}).body +
      page_of(serve::Refusal(404, "not_found", "nothing here")).body;
  for (const page::Asset& asset : assets::kAll)
    EXPECT_TRUE(has(pages, testing::longest_literal(asset.text))) << asset.name;
}

}  // namespace
}  // namespace assay::tester
