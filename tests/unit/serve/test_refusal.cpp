#include <gtest/gtest.h>

#include "refused.h"
#include "serve/http_status.h"
#include "serve/refusal.h"

namespace assay::serve {
namespace {

TEST(RequestBody, ThatIsAnObjectIsRead) {
  EXPECT_EQ(parse_body(R"({"a": [1, {"b": "]]]]"}]})", 100)["a"][0], 1);
}

TEST(RequestBody, ThatIsNoObjectIsRefused) {
  for (const char* body : {"", "[]", "7", "{", "{\"a\": NaN}", "{\"a\": Infinity}",
                           "{\"a\": 1e999}", "{\"a\": \"\xff\"}", "{} {}"})
    EXPECT_EQ(refused([&] { return parse_body(body, 100); }), "400 bad_json") << body;
}

TEST(RequestBody, NestedDeeplyIsRefusedBeforeItIsBuilt) {
  const std::string deep = "{\"a\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_EQ(refused([&] { return parse_body(deep, 1 << 20); }), "400 bad_json");
  const std::string fine = "{\"a\": " + std::string(31, '[') + std::string(31, ']') + "}";
  EXPECT_EQ(refused([&] { return parse_body(fine, 1 << 20); }), "granted");
  std::string wide = "{\"env\": {\"a\": \"1\"";
  for (int i = 0; i < 20'000; ++i) wide += ", \"v" + std::to_string(i) + "\": \"1\"";
  EXPECT_EQ(refused([&] { return parse_body(wide + "}}", 1 << 20); }), "413 too_large");
}

TEST(RequestBody, LargerThanItsLimitIsRefused) {
  EXPECT_EQ(refused([] { return parse_body(R"({"a": "0123456789"})", 10); }), "413 too_large");
}

TEST(RequestBody, TextFieldsHaveNoControlCharacters) {
  EXPECT_EQ(text_field({{"name", "Cluster ü"}}, "name", 20), "Cluster ü");
  EXPECT_EQ(text_field(Json::object(), "name", 20), "");
  for (const Json& name :
       {Json("a\nb"), Json("a\u001b[31m"), Json(7), Json("0123456789abcdef01234")})
    EXPECT_EQ(refused([&] {
                return text_field({{"name", name}}, "name", 20);
              }),
              "400 bad_field")
        << name;
}

TEST(Refusal, IsSaidWithCodeMessageAndAdvice) {
  Refusal refusal(409, "wrong_offset", "4 bytes are here", "go on there");
  refusal.more["received"] = 4;
  refusal.retry_after_s = 3;
  const HttpResponse response = response_of(refusal);
  EXPECT_EQ(response.status, 409);
  const Json expected = {
      {"error",
       {{"code", "wrong_offset"}, {"message", "4 bytes are here"}, {"advice", "go on there"}}},
      {"received", 4}};
  EXPECT_EQ(Json::parse(response.body), expected);
  const std::vector<std::pair<std::string, std::string>> headers{{"Retry-After", "3"}};
  EXPECT_EQ(response.headers, headers);
}

TEST(AnswerBytes, AreAWholeAnswerWithTheReasonOfItsStatus) {
  HttpResponse response;
  response.status = 502;
  response.type = "text/html";
  response.body = "<p>";
  response.headers = {{"Cache-Control", "no-store"}};
  EXPECT_EQ(answer_bytes(response),
            "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 3\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n<p>");
}

TEST(AnswerBytes, OfAHeadThatIsAtFaultAreThoseOfARefusal) {
  const std::string answer = raw_answer({431, "the headers are too long, or too many"});
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n")) << answer;
  const Json body = parse_json_or_null(answer.substr(answer.find("\r\n\r\n") + 4));
  EXPECT_EQ(
      body,
      (Json{{"error",
             {{"code", "too_large"}, {"message", "the headers are too long, or too many"}}}}));
}

}  // namespace
}  // namespace assay::serve
