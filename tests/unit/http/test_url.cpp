#include <gtest/gtest.h>

#include "error_of.h"
#include "http/date.h"
#include "http/url.h"

namespace assay::http {
namespace {

using ::assay::testing::error_of;

TEST(Url, EncodesAllButUnreservedBytes) {
  EXPECT_EQ(percent_encode("a b/ü~-._"), "a%20b%2F%C3%BC~-._");
  EXPECT_EQ(percent_encode("a b/c", true), "a%20b/c");
}

TEST(Url, DecodesWhatItEncodes) {
  std::string every;
  for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(every)), every);
}

TEST(Url, LeavesABrokenEscapeAsItIs) {
  EXPECT_EQ(percent_decode("100%zz%4"), "100%zz%4");
}

TEST(Url, ReadsAQueryWithAndWithoutValues) {
  const Query query = parse_query("uploads&prefix=a%2Fb&empty=");
  EXPECT_EQ(query, (Query{{"uploads", ""}, {"prefix", "a/b"}, {"empty", ""}}));
}

TEST(Url, ReadsAFormsBlanks) {
  const Query form = parse_form("search=line+7+of&plus=1%2B1");
  EXPECT_EQ(form, (Query{{"search", "line 7 of"}, {"plus", "1+1"}}));
}

TEST(Url, TakesApartAnEndpoint) {
  const Url url = parse_url("HTTPS://Obs.Example.com:443/a%20b?x=1#f", "t");
  EXPECT_EQ(url.origin, "https://obs.example.com");
  EXPECT_EQ(url.host, "obs.example.com");
  EXPECT_EQ(url.path, "/a b");
  EXPECT_EQ(url.query, (Query{{"x", "1"}}));
  EXPECT_EQ(parse_url("obs.example.com", "t").origin, "https://obs.example.com");
  EXPECT_EQ(parse_url("http://127.0.0.1:80", "t").host, "127.0.0.1");
}

TEST(Url, RefusesWhatIsNoEndpoint) {
  for (const char* text : {"ftp://x", "https://", "https:///path", "https://a b", "http://:80"})
    EXPECT_NE(error_of([&] { return parse_url(text, "suite.yaml:3:5"); }), "no error") << text;
}

TEST(Url, APortIsOneThatThereIs) {
  for (const char* url : {"http://h:0", "http://h:99999/x", "http://[::1]:65536", "http://h:"})
    EXPECT_THROW((void)parse_url(url, "x"), Error) << url;
  EXPECT_EQ(parse_url("http://[::1]:65535/x", "x").host, "[::1]:65535");
  EXPECT_EQ(parse_url("http://[::1]/x", "x").host, "[::1]");
}

TEST(Url, DoesNotRepeatAPasswordThatItRefuses) {
  const std::string error = error_of([] { return parse_url("https://me:hunter2@host/", "t"); });
  EXPECT_NE(error.find("password"), std::string::npos);
  EXPECT_EQ(error.find("hunter2"), std::string::npos);
}

TEST(HttpDate, IsRfc1123InUtc) {
  EXPECT_EQ(http_date(1444637558'000'000'000), "Mon, 12 Oct 2015 08:12:38 GMT");
  EXPECT_EQ(parse_http_date("Mon, 12 Oct 2015 08:12:38 GMT"), 1444637558'000'000'000);
  EXPECT_EQ(parse_http_date("yesterday"), std::nullopt);
}

}  // namespace
}  // namespace assay::http
