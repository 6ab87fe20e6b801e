#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/text.h"
#include "core/time.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SignIn : public RestWorld {
 protected:
  SignIn() { accounts_.set_password("ann", kPassword); }

  serve::HttpResponse sign_in(const std::string& name, const std::string& password,
                              const std::map<std::string, std::string>& headers = {}) {
    return ask({.method = "POST",
                .path = "/api/v1/session",
                .body = {{"name", name}, {"password", password}},
                .headers = headers});
  }
  // "assay_session=…" of an answer.
  static std::string cookie_of(const serve::HttpResponse& response) {
    const std::string set = header(response, "Set-Cookie");
    return set.substr(0, set.find(';'));
  }
};

TEST_F(SignIn, GivesACookieThatScriptsAndOtherSitesDoNotGet) {
  const auto response = sign_in("ann", kPassword);
  ASSERT_EQ(response.status, 200);
  const std::string cookie = header(response, "Set-Cookie");
  for (const char* flag : {"HttpOnly", "SameSite=Strict", "Path=/"})
    EXPECT_THAT(cookie, HasSubstr(flag));
  EXPECT_THAT(cookie, Not(HasSubstr("Secure")));
  const Json session =
      json({.path = "/api/v1/session", .headers = {{"cookie", "a=b; " + cookie_of(response)}}});
  EXPECT_EQ(session["user"], "ann");
  EXPECT_EQ(session["role"], "member");
  EXPECT_EQ(session["teams"], Json::array({"vision"}));
}

TEST_F(SignIn, IsSecureUnderTls) {
  context_.tls = true;
  EXPECT_THAT(header(sign_in("ann", kPassword), "Set-Cookie"), HasSubstr("; Secure"));
}

TEST_F(SignIn, DoesNotTellWhatWasWrong) {
  const auto wrong_name = sign_in("nobody", kPassword);
  const auto wrong_password = sign_in("ann", "wrong password");
  EXPECT_EQ(wrong_name.status, 401);
  EXPECT_EQ(wrong_name.body, wrong_password.body);
  EXPECT_EQ(header(wrong_name, "Set-Cookie"), "");
}

TEST_F(SignIn, FixationIsImpossible) {
  // Whatever the browser came with, the session is a new one, and the old one is over.
  const std::string planted = "assay_session=" + std::string(64, 'a');
  const auto first = sign_in("ann", kPassword, {{"cookie", planted}});
  EXPECT_NE(cookie_of(first), planted);
  EXPECT_EQ(ask({.path = "/api/v1/session", .headers = {{"cookie", planted}}}).status, 401);
  const auto second = sign_in("ann", kPassword, {{"cookie", cookie_of(first)}});
  EXPECT_NE(cookie_of(second), cookie_of(first));
  EXPECT_EQ(ask({.path = "/api/v1/session", .headers = {{"cookie", cookie_of(first)}}}).status,
            401);
}

TEST_F(SignIn, ASecondCookieOfTheNameIsAPlantedOne) {
  const std::string mine = cookie_of(sign_in("ann", kPassword));
  EXPECT_EQ(ask({.path = "/api/v1/session", .headers = {{"cookie", mine + "; " + mine}}}).status,
            401);
}

TEST_F(SignIn, ChangesNeedTheSessionsCsrfToken) {
  const auto response = sign_in("ann", kPassword);
  const std::string csrf = parse_json(response.body, "session")["csrf"];
  const std::string other = parse_json(sign_in("ann", kPassword).body, "session")["csrf"];
  const auto submit = [&](std::map<std::string, std::string> headers) {
    headers["cookie"] = cookie_of(response);
    return ask({.method = "POST",
                .path = "/api/v1/jobs",
                .body = submission(),
                .headers = std::move(headers)})
        .status;
  };
  EXPECT_EQ(submit({}), 403);
  EXPECT_EQ(submit({{"x-csrf-token", "x"}}), 403);
  EXPECT_EQ(submit({{"x-csrf-token", other}}), 403);
  EXPECT_EQ(submit({{"x-csrf-token", csrf}}), 201);
  EXPECT_EQ(submit({{"x-csrf-token", csrf}, {"origin", "http://evil.example"}}), 403);
  EXPECT_EQ(submit({{"x-csrf-token", csrf}, {"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(submit({{"x-csrf-token", csrf}, {"sec-fetch-site", "same-site"}}), 403);
  EXPECT_EQ(submit({{"x-csrf-token", csrf},
                    {"sec-fetch-site", "same-origin"},
                    {"origin", "http://127.0.0.1:8480"}}),
            201);
}

TEST_F(SignIn, APageOfAnotherSiteCannotSignSomebodyIn) {
  EXPECT_EQ(sign_in("ann", kPassword, {{"origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(sign_in("ann", kPassword, {{"sec-fetch-site", "cross-site"}}).status, 403);
  EXPECT_EQ(sign_in("ann", kPassword, {{"content-type", "text/plain"}}).status, 415);
}

TEST_F(SignIn, EndsBySigningOut) {
  const auto response = sign_in("ann", kPassword);
  const std::string csrf = parse_json(response.body, "session")["csrf"];
  const auto out = ask({.method = "DELETE",
                        .path = "/api/v1/session",
                        .headers = {{"cookie", cookie_of(response)}, {"x-csrf-token", csrf}}});
  EXPECT_EQ(out.status, 200);
  EXPECT_THAT(header(out, "Set-Cookie"), HasSubstr("Max-Age=0"));
  EXPECT_EQ(ask({.path = "/api/v1/session", .headers = {{"cookie", cookie_of(response)}}}).status,
            401);
}

TEST_F(SignIn, EndsEverywhereWhereThatIsAskedFor) {
  const auto here = sign_in("ann", kPassword);
  const std::string there = cookie_of(sign_in("ann", kPassword));
  const std::string csrf = parse_json_or_null(here.body)["csrf"];
  const std::map<std::string, std::string> headers{{"cookie", cookie_of(here)},
                                                   {"x-csrf-token", csrf}};
  EXPECT_EQ(
      ask({.method = "DELETE", .path = "/api/v1/session?everywhere=1", .headers = headers}).status,
      200);
  EXPECT_EQ(ask({.path = "/api/v1/session", .headers = {{"cookie", there}}}).status, 401);
}

TEST_F(SignIn, OnesOwnPasswordIsChangedInASession) {
  const auto response = sign_in("ann", kPassword);
  const std::string csrf = parse_json(response.body, "session")["csrf"];
  const auto changed = ask({.method = "PUT",
                            .path = "/api/v1/users/ann",
                            .body = {{"password", "another long password"}},
                            .headers = {{"cookie", cookie_of(response)}, {"x-csrf-token", csrf}}});
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(sign_in("ann", "another long password").status, 200);
}

TEST_F(SignIn, ByALinkWorksOnce) {
  const std::string link = accounts_.make_link("root", wall_now_ns());
  const auto by_link = [&] {
    return ask({.method = "POST", .path = "/api/v1/session", .body = {{"link", link}}});
  };
  const auto response = by_link();
  ASSERT_EQ(response.status, 200);
  EXPECT_EQ(parse_json(response.body, "session")["password_set"], false);
  EXPECT_EQ(by_link().status, 401);
}

TEST_F(SignIn, ALinkSaysWhomItIsForAndStaysGood) {
  const std::string link = accounts_.make_link("root", wall_now_ns());
  const auto look = [&] {
    return ask({.method = "POST", .path = "/api/v1/session/preview", .body = {{"link", link}}});
  };
  EXPECT_EQ(parse_json(look().body, "preview")["user"], "root");
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/session", .body = {{"link", link}}}).status,
            200);
  EXPECT_EQ(look().status, 404);
  EXPECT_EQ(
      ask({.method = "POST", .path = "/api/v1/session/preview", .body = Json::object()}).status,
      404);
  EXPECT_EQ(ask({.method = "POST",
                 .path = "/api/v1/session/preview",
                 .body = {{"link", link}},
                 .headers = {{"origin", "https://elsewhere.example"}}})
                .status,
            403);
}

TEST_F(SignIn, AttemptsAreLimitedInTheSameWayWhetherThereIsSuchAUserOrNot) {
  const auto attempts = [&](const std::string& name) {
    int n = 0;
    while (n < 50 && sign_in(name, "wrong password").status == 401) ++n;
    return n;
  };
  // A few more where hashing takes seconds.
  EXPECT_THAT(attempts("ann"), ::testing::AllOf(::testing::Ge(10), ::testing::Le(20)));
  EXPECT_THAT(attempts("nobody"), ::testing::AllOf(::testing::Ge(10), ::testing::Le(20)));
  const auto refused = sign_in("ann", kPassword);
  EXPECT_EQ(refused.status, 429) << "even with the right one";
  EXPECT_NE(header(refused, "Retry-After"), "");
}

TEST_F(SignIn, AttemptsFromManyAddressesAreLimitedTogether) {
  for (int i = 0; i < 100; ++i)  // others' attempts
    (void)context_.sign_ins.begin({SignInWay::password, fmt::format("10.0.1.{}", i), "ann"},
                                  mono_now_ns());
  address_ = "10.0.0.9";
  EXPECT_EQ(sign_in("ann", kPassword).status, 429);
  EXPECT_EQ(sign_in("bob", "wrong password").status, 401);
}

TEST_F(SignIn, TheRightPasswordIsNoFailedAttempt) {
  for (int i = 0; i < 12; ++i) ASSERT_EQ(sign_in("ann", kPassword).status, 200) << i;
}

TEST_F(SignIn, WhoLooksAtALinkHasNotTriedIt) {
  const Json wrong{{"link", "of-yesterday"}};
  for (int i = 0; i < 70; ++i)
    ASSERT_EQ(ask({.method = "POST", .path = "/api/v1/session/preview", .body = wrong}).status, 404)
        << i;
  const Json link{{"link", accounts_.make_link("root", wall_now_ns())}};
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/session", .body = link}).status, 200);
}

TEST_F(SignIn, IsInTheAuditLogWithoutWhatWasTyped) {
  (void)sign_in("my secret password", "x");
  (void)sign_in("ann", "wrong password");
  const Json deeds = json({.path = "/api/v1/audit", .as = "root"})["deeds"];
  EXPECT_EQ(deeds[0]["who"], "ann");
  EXPECT_EQ(deeds[0]["status"], 401);
  EXPECT_EQ(deeds[0]["deed"], "sign_in");
  EXPECT_EQ(deeds[1]["who"], "somebody unknown");
  EXPECT_THAT(dump_line(deeds), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace assay::rest
