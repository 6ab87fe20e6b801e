#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/text.h"
#include "database/database.h"
#include "rest/guard.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::HasSubstr;

class Guard : public RestWorld {};

TEST_F(Guard, ANameThatLeadsHereButIsNotOursIsRefused) {
  for (const char* host : {"evil.example", "evil.example:8480", "127.0.0.1.evil.example", "",
                           "[::1]:8480", "localhost@evil.example"})
    EXPECT_EQ(ask({.path = "/api/openapi.json", .headers = {{"host", host}}}).status, 421) << host;
  for (const char* host : {"localhost", "LOCALHOST:8480", "127.0.0.1:1"})
    EXPECT_EQ(ask({.path = "/api/openapi.json", .headers = {{"host", host}}}).status, 200) << host;
}

TEST_F(Guard, AnAddressThatNobodyKnowsIsNotThere) {
  EXPECT_EQ(ask({.path = "/api/v1/jobs/1/xyz", .as = "ann"}).status, 404);
  EXPECT_EQ(ask({.path = "/api/v2", .as = "ann"}).status, 404);
}

TEST(Failure, ADatabaseThatCannotBeUsedNowIsNoFaultOfTheServer) {
  using database::Cause;
  const auto locked = failure(database::DatabaseError(Cause::locked, "busy", "jobs.db"));
  EXPECT_EQ(locked.status, 503);
  EXPECT_THAT(locked.headers, ::testing::Contains(::testing::Pair("Retry-After", "5")));
  EXPECT_EQ(failure(database::DatabaseError(Cause::not_writable, "gone", "jobs.db")).status, 503);
  const auto full = failure(database::DatabaseError(Cause::disk_full, "full", "jobs.db"));
  EXPECT_EQ(full.status, 503);
  EXPECT_THAT(full.headers, ::testing::Contains(::testing::Pair("Retry-After", "60")));
  EXPECT_THAT(full.body, HasSubstr("\"no_room\""));
  EXPECT_EQ(
      failure(system_error(ErrorKind::environment, "cannot write", "cluster.json", ENOSPC)).status,
      503);
  EXPECT_EQ(
      failure(system_error(ErrorKind::environment, "cannot write", "cluster.json", EIO)).status,
      500);
  EXPECT_EQ(failure(database::DatabaseError(Cause::damaged, "odd", "jobs.db")).status, 500);
  EXPECT_EQ(failure(std::runtime_error("odd")).status, 500);
}

TEST_F(Guard, EveryAnswerHasItsHeaders) {
  for (const char* path : {"/api/openapi.json", "/api/v1/session", "/api/v1/jobs/1"}) {
    const auto response = ask({.path = path});
    EXPECT_EQ(header(response, "X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(header(response, "Referrer-Policy"), "no-referrer") << path;
    EXPECT_EQ(header(response, "Cache-Control"), "no-store") << path;
    EXPECT_THAT(header(response, "Content-Security-Policy"), HasSubstr("default-src 'none'"));
  }
}

TEST_F(Guard, ThePagesAreUnderAStrictPolicy) {
  context_.pages = {{"index.html", "<p>", std::string_view("0123456789abcdef0123456789abcdef")},
                    {"main.js", "x", std::string_view("fedcba9876543210fedcba9876543210")}};
  const auto page = ask({.path = "/"});
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(header(page, "Content-Security-Policy"), HasSubstr("default-src 'self'"));
  EXPECT_THAT(header(page, "Content-Security-Policy"), ::testing::Not(HasSubstr("unsafe")));
  EXPECT_EQ(header(page, "Cache-Control"), "no-cache");
  EXPECT_EQ(ask({.path = "/", .headers = {{"if-none-match", header(page, "ETag")}}}).status, 304);
  const auto script = ask({.path = "/static/main.js?v=fedcba9876543210fedcba9876543210"});
  EXPECT_THAT(header(script, "Cache-Control"), HasSubstr("immutable"));
  EXPECT_THAT(script.type, HasSubstr("text/javascript"));
  EXPECT_EQ(ask({.path = "/static/..%2faccounts.db"}).status, 404);
}

TEST_F(Guard, OtherMethodsAreNamed) {
  const auto response = ask({.method = "DELETE", .path = "/api/v1/jobs", .as = "root"});
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(header(response, "Allow"), "POST, GET, HEAD");
}

TEST_F(Guard, BodiesThatAreTooLargeTooDeepOrNoJsonAreRefused) {
  const auto submit = [&](const std::string& body, const char* type = "application/json") {
    serve::HttpRequest request;
    request.method = "POST";
    request.path = request.route = "/api/v1/jobs";
    request.headers = {{"host", "localhost"},
                       {"authorization", "Bearer " + tokens_.at("ann")},
                       {"content-type", type}};
    request.body = body;
    int status = 0;
    std::string who;
    rest_.handle(request, who,
                 [&](const serve::HttpResponse& response) { status = response.status; });
    return status;
  };
  EXPECT_EQ(submit(std::string((1U << 20) + 1, ' ')), 413);
  EXPECT_EQ(submit(std::string(100'000, '[')), 400);
  EXPECT_EQ(submit("{"), 400);
  EXPECT_EQ(submit("[]"), 400);
  EXPECT_EQ(submit(""), 400);
  EXPECT_EQ(submit(R"({"name": "a", "command": "x", "name": "b"})"), 400) << "which one counts?";
  EXPECT_EQ(submit("{}", "application/x-www-form-urlencoded"), 415);
  EXPECT_EQ(submit("{}"), 422);
}

TEST_F(Guard, NamesThatAreTooLongHideOrBreakSomethingAreRefused) {
  for (const std::string& name :
       {std::string(10'000, 'x'), std::string("a\nb"), std::string("a\x1b[31mb"),
        std::string("\u202Egnp.exe"), std::string("\u200Bhidden"), std::string()}) {
    Json job = submission(name);
    const auto response = ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = job});
    ASSERT_EQ(response.status, 422) << name;
    EXPECT_EQ(parse_json(response.body, "")["error"]["problems"][0]["path"], "name");
  }
  const auto id = std::to_string(job_of("ann", "vision"));
  for (const std::string& name : {std::string(10'000, 'x'), std::string("\u202Egnp.exe")})
    EXPECT_GE(ask({.method = "PATCH",
                   .path = "/api/v1/jobs/" + id,
                   .as = "ann",
                   .body = {{"name", name}}})
                  .status,
              400);
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/queues/a%20%3Cb%3E",
                 .as = "root",
                 .body = Json::object()})
                .status,
            400);
  const std::string markup = "<img src=x onerror=alert(1)>";
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = submission(markup)})
                .status,
            201)
      << "it is text, and pages show it as such";
}

TEST_F(Guard, JobNumbersAreNumbers) {
  (void)job_of("ann", "vision");
  for (const char* id :
       {"x", "-1", "0", "1e3", "99999999999999999999", "1%00", "..%2f1", "01", "+1"})
    EXPECT_EQ(ask({.path = std::string("/api/v1/jobs/") + id, .as = "root"}).status, 404) << id;
}

TEST_F(Guard, ANulInTheQueryIsNoTextToSearchFor) {
  (void)job_of("ann", "vision");
  for (const char* query : {"search=%00", "search=x%00y", "owner=%00ann"})
    EXPECT_EQ(ask({.path = std::string("/api/v1/jobs?") + query, .as = "ann"}).status, 400)
        << query;
}

}  // namespace
}  // namespace assay::rest
