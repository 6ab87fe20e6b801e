#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/time.h"
#include "oidc_issuer.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::HasSubstr;
using testing::OidcIssuer;

class SignInByProvider : public RestWorld {
 protected:
  void SetUp() override {
    if (OidcIssuer::python().empty())
      GTEST_SKIP() << needs::package("python3-jwt python3-cryptography");
    issuer_.emplace();
    use(issuer_->settings());
  }
  void use(const oidc::OidcSettings& settings) {
    provider_.emplace(settings);
    context_.provider = &*provider_;
  }
  // Where the browser ends up.
  std::string arrive(const std::string& who, const std::string& more = {}, bool keep = true) {
    const auto begun = ask({.path = "/api/v1/session/oidc"});
    EXPECT_EQ(begun.status, 303);
    const std::string set = header(begun, "Set-Cookie");
    for (const char* flag : {"HttpOnly", "SameSite=Lax", "Path=/api/v1/session;"})
      EXPECT_THAT(set, HasSubstr(flag));
    const http::Query back = OidcIssuer::sign_in(header(begun, "Location"), who, more);
    Asked asked{.path = "/api/v1/session/oidc/callback?" + http::encode_query(back)};
    if (keep) asked.headers["cookie"] = set.substr(0, set.find(';'));
    const auto response = ask(asked);
    EXPECT_EQ(response.status, 303);
    const std::string arrived = header(response, "Set-Cookie");
    EXPECT_THAT(arrived, HasSubstr("HttpOnly"));
    cookie_ = arrived.substr(0, arrived.find(';'));
    return header(response, "Location");
  }
  // What the page does at which the browser arrives.
  serve::HttpResponse go_on() {
    return ask({.method = "POST",
                .path = "/api/v1/session",
                .body = {{"by", "provider"}},
                .headers = {{"cookie", cookie_}}});
  }
  Json session_of(const std::string& location) {
    EXPECT_EQ(location, "/#/sign-in?by=provider");
    return parse_json(go_on().body, "session");
  }
  // Signs in from an address of its own: attempts from one are limited.
  std::string arrive_from(const std::string& address, const std::string& who,
                          const std::string& more) {
    address_ = address;
    return arrive(who, more);
  }
  std::string session_cookie_after(const std::string& location) {
    EXPECT_EQ(location, "/#/sign-in?by=provider");
    const std::string set = header(go_on(), "Set-Cookie");
    return set.substr(0, set.find(';'));
  }
  bool is_signed_in(const std::string& cookie) {
    return ask({.path = "/api/v1/session", .headers = {{"cookie", cookie}}}).status == 200;
  }
  static oidc::OidcSettings with(oidc::OidcSettings settings, bool link) {
    settings.new_accounts = jobs::Role::viewer;
    settings.roles = {{jobs::Role::admin, {"ops"}}, {jobs::Role::member, {"ml"}}};
    settings.link_existing = link;
    return settings;
  }

  std::optional<OidcIssuer> issuer_;
  std::optional<oidc::Provider> provider_;
  std::string cookie_;  ///< that the browser keeps after its way back
};

TEST_F(SignInByProvider, IsOfferedWhereThereIsOne) {
  EXPECT_EQ(json({.path = "/api/v1/sign-in"})["provider"], "Example");
  context_.provider = nullptr;
  EXPECT_TRUE(json({.path = "/api/v1/sign-in"})["provider"].is_null());
  EXPECT_EQ(ask({.path = "/api/v1/session/oidc"}).status, 404);
}

TEST_F(SignInByProvider, MakesAnAccountWhereItMay) {
  EXPECT_EQ(arrive("zoe"), "/#/sign-in?failed=unknown");
  EXPECT_FALSE(accounts_.find("zoe"));
  use(with(issuer_->settings(), false));
  const Json session = session_of(arrive("zoe", "groups=ml"));
  EXPECT_EQ(session["user"], "zoe");
  EXPECT_EQ(session["role"], "member");
  EXPECT_EQ(session["full_name"], "Zoe Example");
}

TEST_F(SignInByProvider, GivesTheRoleOfTheGroupsEachTime) {
  use(with(issuer_->settings(), false));
  EXPECT_EQ(session_of(arrive("zoe", "groups=ops"))["role"], "admin");
  EXPECT_EQ(session_of(arrive("zoe", "groups=ml"))["role"], "member");
}

TEST_F(SignInByProvider, WhoLosesAllGroupsIsShutOut) {
  oidc::OidcSettings settings = with(issuer_->settings(), false);
  settings.new_accounts.reset();
  use(settings);
  int address = 0;
  for (const char* none : {"groups=", "groups=other", "wrong=nogroups"}) {
    const std::string from = fmt::format("10.0.0.{}", ++address);
    const std::string session = session_cookie_after(arrive_from(from, "zoe", "groups=ops"));
    ASSERT_TRUE(is_signed_in(session));
    ASSERT_EQ(accounts_.find("zoe")->role, jobs::Role::admin);
    tokens_["zoe"] = accounts_.make_token("zoe", "laptop", 0, wall_now_ns());
    EXPECT_EQ(arrive(std::string("zoe"), none), "/#/sign-in?failed=groups") << none;
    EXPECT_EQ(go_on().status, 400) << "there is nothing to go on with";
    EXPECT_EQ(accounts_.find("zoe")->role, jobs::Role::viewer) << none;
    EXPECT_FALSE(is_signed_in(session)) << none;
    EXPECT_EQ(ask({.path = "/api/v1/session", .as = "zoe"}).status, 401) << "a token is one, too";
  }
}

TEST_F(SignInByProvider, WhoLosesAllGroupsHasTheRoleOfNewAccountsWhereThereIsOne) {
  use(with(issuer_->settings(), false));
  const std::string before = session_cookie_after(arrive("zoe", "groups=ops"));
  ASSERT_TRUE(is_signed_in(before));
  EXPECT_EQ(session_of(arrive_from("10.0.0.2", "zoe", "groups=other"))["role"], "viewer");
  EXPECT_FALSE(is_signed_in(before)) << "what was more than that ends";
}

TEST_F(SignInByProvider, TheLastAdministratorKeepsTheRoleButDoesNotComeIn) {
  accounts_.set_identity("root", issuer_->settings().issuer, "id-of-root");
  use(with(issuer_->settings(), false));
  const std::string before = session_cookie_after(arrive("root", "groups=ops"));
  ASSERT_TRUE(is_signed_in(before));
  EXPECT_EQ(arrive_from("10.0.0.2", "root", "groups=ml"), "/#/sign-in?failed=last");
  EXPECT_FALSE(is_signed_in(before));
  EXPECT_EQ(accounts_.find("root")->role, jobs::Role::admin);
  oidc::OidcSettings settings = with(issuer_->settings(), false);
  settings.new_accounts.reset();
  use(settings);
  EXPECT_EQ(arrive("root", "groups="), "/#/sign-in?failed=last");
  EXPECT_EQ(accounts_.find("root")->role, jobs::Role::admin);
}

TEST_F(SignInByProvider, AnAccountMadeByHandIsNotLinkedToWhoHasNoRole) {
  oidc::OidcSettings settings = with(issuer_->settings(), true);
  settings.new_accounts.reset();
  use(settings);
  EXPECT_EQ(arrive("ann", "groups=other"), "/#/sign-in?failed=groups");
  EXPECT_FALSE(accounts_.known_as(issuer_->settings().issuer, "id-of-ann"));
  EXPECT_EQ(accounts_.find("ann")->role, jobs::Role::member) << "it was not theirs";
  EXPECT_EQ(ask({.path = "/api/v1/session", .as = "ann"}).status, 200);
  // Once it is theirs, their groups decide.
  EXPECT_EQ(session_of(arrive("ann", "groups=ml"))["role"], "member");
  EXPECT_EQ(arrive_from("10.0.0.2", "ann", "groups=other"), "/#/sign-in?failed=groups");
  EXPECT_EQ(accounts_.find("ann")->role, jobs::Role::viewer);
}

TEST_F(SignInByProvider, WithoutRolesByGroupsARoleIsGivenByHand) {
  accounts_.set_identity("root", issuer_->settings().issuer, "id-of-root");
  EXPECT_EQ(session_of(arrive("root", "groups=other"))["role"], "admin");
}

TEST_F(SignInByProvider, DoesNotTakeOverAnAccountByItsName) {
  use(with(issuer_->settings(), false));
  EXPECT_EQ(arrive("root", "groups=ml"), "/#/sign-in?failed=taken");
  EXPECT_EQ(accounts_.find("root")->role, jobs::Role::admin);
}

TEST_F(SignInByProvider, LinksAnAccountOnceWhereTheOperatorWantsIt) {
  use(with(issuer_->settings(), true));
  EXPECT_EQ(session_of(arrive("ann"))["user"], "ann");
  EXPECT_EQ(accounts_.known_as(issuer_->settings().issuer, "id-of-ann"), "ann");
}

TEST_F(SignInByProvider, ManyPeopleOfOneAddressComeInAndALinkGoesOnWorking) {
  use(with(issuer_->settings(), false));
  for (int i = 0; i < 8; ++i)
    ASSERT_EQ(session_of(arrive(fmt::format("person{}", i), "groups=ml"))["role"], "member");
  // Whoever sends nonsense to the callback.
  int refused = 0;
  for (int i = 0; i < 70; ++i)
    refused += ask({.path = "/api/v1/session/oidc/callback?state=x&code=y"}).status == 429 ? 1 : 0;
  EXPECT_GT(refused, 0);
  const Json link{{"link", accounts_.make_link("root", wall_now_ns())}};
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/session", .body = link}).status, 200);
}

TEST_F(SignInByProvider, KnowsPeopleByTheirSubjectAndNotByTheirName) {
  accounts_.set_identity("bob", issuer_->settings().issuer, "id-of-robert");
  EXPECT_EQ(session_of(arrive("robert"))["user"], "bob");
}

TEST_F(SignInByProvider, LetsNobodyInWhoIsDisabled) {
  accounts_.set_identity("bob", issuer_->settings().issuer, "id-of-bob");
  auto bob = *accounts_.find("bob");
  bob.disabled = true;
  accounts_.put(bob, 1);
  EXPECT_EQ(arrive("bob"), "/#/sign-in?failed=disabled");
}

TEST_F(SignInByProvider, SaysWhatWentWrongInWordsOfItsOwn) {
  EXPECT_EQ(arrive("ann", "wrong=denied"), "/#/sign-in?failed=denied");
  EXPECT_EQ(arrive("ann", "wrong=stranger"), "/#/sign-in?failed=provider");
  EXPECT_EQ(arrive("ann", {}, false), "/#/sign-in?failed=again") << "another browser began it";
  use(with(issuer_->settings(), false));
  EXPECT_EQ(arrive("a+name%3Cwith%3Emarks"), "/#/sign-in?failed=name");
}

TEST_F(SignInByProvider, EndsInTheBrowserThatBeganItAndInNoOther) {
  accounts_.set_identity("ann", issuer_->settings().issuer, "id-of-ann");
  EXPECT_EQ(arrive("ann"), "/#/sign-in?by=provider") << "nothing in it is worth anything";
  const std::string mine = cookie_;
  cookie_ = "";
  EXPECT_EQ(go_on().status, 400) << "a browser that has no cookie";
  const std::string secret = mine.substr(mine.find('=') + 1);
  const Json as_link{{"link", secret}};
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/session", .body = as_link}).status, 401)
      << "nobody signs others in as themselves with it";
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/session/preview", .body = as_link}).status,
            404);
  cookie_ = mine + "; assay_oidc=planted";
  EXPECT_EQ(go_on().status, 400);
  cookie_ = mine;
  EXPECT_EQ(parse_json(go_on().body, "session")["user"], "ann");
  EXPECT_EQ(go_on().status, 401) << "it works once";
}

TEST_F(SignInByProvider, ALinkThatSomebodyWasGivenIsNoEndOfIt) {
  cookie_ = "assay_oidc=" + accounts_.make_link("root", wall_now_ns());
  EXPECT_EQ(go_on().status, 401);
}

TEST_F(SignInByProvider, SaysWhomItWillSignIn) {
  accounts_.set_identity("ann", issuer_->settings().issuer, "id-of-ann");
  (void)arrive("ann");
  const Json said = json({.method = "POST",
                          .path = "/api/v1/session/preview",
                          .body = {{"by", "provider"}},
                          .headers = {{"cookie", cookie_}}});
  EXPECT_EQ(said["user"], "ann");
  EXPECT_EQ(parse_json(go_on().body, "session")["user"], "ann") << "it is still good";
}

}  // namespace
}  // namespace assay::rest
