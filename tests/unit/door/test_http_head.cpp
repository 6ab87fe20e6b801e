#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "door/http_head.h"

namespace assay::door {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

serve::HttpRequest request(std::map<std::string, std::string> headers = {}) {
  serve::HttpRequest out;
  out.method = "GET";
  out.path = "/a%20b";
  out.query = "x=1";
  out.address = "10.0.0.9";
  out.headers = std::move(headers);
  out.headers["host"] = "job7-web.localhost:8480";
  return out;
}

TEST(RequestForAnApplication, IsOneThatEndsWithItsConnection) {
  const std::string sent = request_for(request({{"connection", "keep-alive, x-hop"},
                                                {"x-hop", "1"},
                                                {"te", "trailers"},
                                                {"accept", "*/*"}}),
                                       true, false);
  EXPECT_TRUE(sent.starts_with("GET /a%20b?x=1 HTTP/1.1\r\nHost: job7-web.localhost:8480\r\n"));
  EXPECT_THAT(sent, AllOf(HasSubstr("\r\naccept: */*\r\n"), HasSubstr("\r\nConnection: close\r\n"),
                          HasSubstr("X-Forwarded-For: 10.0.0.9"), HasSubstr("x-assay-door: 1"),
                          Not(HasSubstr("x-hop")), Not(HasSubstr("trailers"))));
}

// What it answers to has no chunks.
TEST(RequestForAnApplication, IsAsOldAsItsBrowser) {
  serve::HttpRequest old = request();
  old.is_old = true;
  EXPECT_TRUE(request_for(old, true, false).starts_with("GET /a%20b?x=1 HTTP/1.0\r\n"));
}

TEST(RequestForAnApplication, HasNoneOfThePlatformsSecrets) {
  const auto asked = request(
      {{"cookie", "a=1; assay_door=SECRET; assay_session=SECRET; __Host-assay_x=SECRET; b=2"},
       {"authorization", "Bearer SECRET"}});
  EXPECT_THAT(request_for(asked, false, false),
              AllOf(HasSubstr("cookie: a=1; b=2\r\n"), Not(HasSubstr("SECRET"))));
  EXPECT_THAT(request_for(asked, true, false), HasSubstr("authorization: Bearer SECRET"));
}

TEST(RequestForAnApplication, KeepsWhatAWebSocketNeeds) {
  const std::string sent = request_for(request({{"connection", "keep-alive, Upgrade"},
                                                {"upgrade", "websocket"},
                                                {"sec-websocket-key", "k"}}),
                                       true, true);
  EXPECT_THAT(sent,
              AllOf(HasSubstr("Connection: Upgrade\r\nUpgrade: websocket\r\n"),
                    HasSubstr("sec-websocket-key: k"), HasSubstr("X-Forwarded-Proto: https")));
}

TEST(RequestForAnApplication, HasTheLengthOfItsBody) {
  auto asked = request({{"transfer-encoding", "chunked"}, {"content-length", "99"}});
  asked.method = "POST";
  asked.body = "four";
  const std::string sent = request_for(asked, true, false);
  EXPECT_THAT(sent, AllOf(HasSubstr("Content-Length: 4\r\n"), Not(HasSubstr("chunked")),
                          Not(HasSubstr("99"))));
  EXPECT_TRUE(sent.ends_with("\r\n\r\nfour"));
}

std::string passed(const std::string& head) {
  return answer_for(parse_answer(head, "GET"));
}

TEST(AnswerOfAnApplication, IsForThisConnection) {
  const std::string head = passed(
      "HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nConnection: keep-alive, X-Hop\r\nX-Hop: "
      "1\r\n"
      "Keep-Alive: timeout=5\r\nContent-Length: 3");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\n"));
  EXPECT_THAT(head, AllOf(HasSubstr("Content-Length: 3\r\n"), HasSubstr("Connection: close\r\n"),
                          Not(HasSubstr("X-Hop")), Not(HasSubstr("timeout"))));
}

TEST(AnswerOfAnApplication, SetsCookiesForItsOwnHostAlone) {
  EXPECT_EQ(confined_cookie("a=1; Domain=localhost; Path=/x; HttpOnly"), "a=1; Path=/x; HttpOnly");
  EXPECT_EQ(confined_cookie("a=1;domain = .example.com"), "a=1");
  EXPECT_EQ(confined_cookie("assay_session=evil; Path=/"), std::nullopt);
  EXPECT_EQ(confined_cookie(" Assay_Door=evil"), std::nullopt);
  EXPECT_EQ(confined_cookie("__Host-assay_session=evil"), std::nullopt);
  EXPECT_EQ(confined_cookie(" =assay_session=evil; Path=/"), std::nullopt);
  EXPECT_EQ(confined_cookie("nothing"), std::nullopt) << "a browser reads it as a nameless cookie";
}

TEST(RequestForAnApplication, IsForAPathAlsoWhereAProxyWasAsked) {
  for (const auto& [target, path] :
       {std::pair("http://job7-web.localhost:8480/a/b", "/a/b"), std::pair("https://host", "/"),
        std::pair("/plain", "/plain"), std::pair("/to/http://x/y", "/to/http://x/y"),
        std::pair("*", "*")}) {
    serve::HttpRequest asked = request({});
    asked.path = target;
    asked.query.clear();
    EXPECT_THAT(request_for(asked, true, false),
                HasSubstr(std::string("GET ") + path + " HTTP/1.1"));
  }
}

TEST(AnswerOfAnApplication, DoesNotReachBeyondItsSite) {
  const std::string head = passed(
      "HTTP/1.1 200 OK\r\nClear-Site-Data: \"cookies\"\r\n"
      "Strict-Transport-Security: max-age=9; includeSubDomains\r\nAlt-Svc: h3=\":1\"\r\n"
      "Set-Cookie: x=1; Domain=localhost\r\nX-Own: kept");
  EXPECT_THAT(head, AllOf(Not(HasSubstr("Clear")), Not(HasSubstr("Strict")), Not(HasSubstr("Alt")),
                          HasSubstr("Set-Cookie: x=1\r\n"), HasSubstr("X-Own: kept")));
}

TEST(AnswerOfAnApplication, ThatIsNoHttpIsRefused) {
  for (const char* head : {"SSH-2.0-OpenSSH_9.2", "HTTP/2 200", "HTTP/1.1 abc", "HTTP/1.1 200OK",
                           "", "HTTP/1.1 200 OK\r\nno colon", "HTTP/1.1 200 OK\r\nsp ace: x",
                           "HTTP/1.1 200 OK\r\nA: b\r\n folded: x", "HTTP/1.1 200 OK\r\nA: b\x01"})
    EXPECT_THROW((void)parse_answer(head, "GET"), Error) << head;
}

TEST(AnswerOfAnApplication, SaysItsLengthInOneWay) {
  for (const char* lengths :
       {"Content-Length: 3\r\nContent-Length: 4", "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Content-Length: -1", "Content-Length: 3x", "Transfer-Encoding: gzip, chunked"})
    EXPECT_THROW((void)parse_answer(std::string("HTTP/1.1 200 OK\r\n") + lengths, "GET"), Error)
        << lengths;
}

TEST(AnswerOfAnApplication, SpeaksOfItsLengthOnce) {
  EXPECT_THAT(passed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5"),
              AllOf(HasSubstr("Content-Length: 5\r\n"), Not(HasSubstr("content-length"))));
  EXPECT_THAT(passed("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nX-Own: kept"),
              AllOf(Not(HasSubstr("Length")), HasSubstr("X-Own: kept")));
  EXPECT_THAT(passed("HTTP/1.1 304 Not Modified\r\nContent-Length: 5"),
              HasSubstr("Content-Length: 5"))
      << "that of what it would be";
}

TEST(BodyOfAnAnswer, EndsWhereItSays) {
  BodyEnd length = parse_answer("HTTP/1.1 200 OK\r\nContent-Length: 5", "GET").body;
  EXPECT_EQ(length.feed("abc"), 3U);
  EXPECT_EQ(length.feed("deHTTP/1.1 200 smuggled"), 2U);
  EXPECT_TRUE(length.done());
  for (const char* none : {"HTTP/1.1 204 -", "HTTP/1.1 304 -"})
    EXPECT_TRUE(parse_answer(none, "GET").body.done());
  EXPECT_TRUE(parse_answer("HTTP/1.1 200 OK\r\nContent-Length: 5", "HEAD").body.done());
  BodyEnd open = parse_answer("HTTP/1.0 200 OK", "GET").body;
  EXPECT_EQ(open.feed("abc"), 3U);
  EXPECT_FALSE(open.done());
}

TEST(BodyOfAnAnswer, InChunksEndsWithTheLastOneWhateverThePieces) {
  const std::string body = "4;x=y\r\nWiki\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n";
  for (const std::size_t piece : {1U, 2U, 5U, 100U}) {
    BodyEnd end = parse_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "GET").body;
    std::size_t used = 0;
    const std::string all = body + "more";
    for (std::size_t at = 0; at < all.size() && !end.done(); at += piece)
      used += end.feed(std::string_view(all).substr(at, piece));
    EXPECT_TRUE(end.done()) << piece;
    EXPECT_EQ(used, body.find("Trailer")) << "a trailer is not let in";
    EXPECT_EQ(end.last_words(), "\r\n");
  }
}

TEST(BodyOfAnAnswer, WithChunksThatAreNoneIsRefused) {
  for (const char* body : {"zz\r\n", "\r\n", "4\r\nWikiX\r\n", "-1\r\n", "ffffffffffffffff\r\n"}) {
    BodyEnd end(BodyEnd::Kind::chunked);
    EXPECT_THROW((void)end.feed(body), Error) << body;
  }
}

}  // namespace
}  // namespace assay::door
