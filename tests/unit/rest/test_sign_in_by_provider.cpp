#include <gmock/gmock.h>

#include "oidc_issuer.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::HasSubstr;
using testing::OidcIssuer;
using ::testing::StartsWith;

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
    for (const char* flag : {"HttpOnly", "SameSite=Lax", "Path=/api/v1/session/oidc"})
      EXPECT_THAT(set, HasSubstr(flag));
    const http::Query back = OidcIssuer::sign_in(header(begun, "Location"), who, more);
    Asked asked{.path = "/api/v1/session/oidc/callback?" + http::encode_query(back)};
    if (keep) asked.headers["cookie"] = set.substr(0, set.find(';'));
    const auto response = ask(asked);
    EXPECT_EQ(response.status, 303);
    return header(response, "Location");
  }
  // The session of the page that the browser arrives at.
  Json session_of(const std::string& location) {
    const std::string mark = "link=";
    return json({.method = "POST",
                 .path = "/api/v1/session",
                 .body = {{"link", location.substr(location.find(mark) + mark.size())}}});
  }
  static oidc::OidcSettings with(oidc::OidcSettings settings, bool link) {
    settings.new_accounts = jobs::Role::viewer;
    settings.roles = {{jobs::Role::admin, {"ops"}}, {jobs::Role::member, {"ml"}}};
    settings.link_existing = link;
    return settings;
  }

  std::optional<OidcIssuer> issuer_;
  std::optional<oidc::Provider> provider_;
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

TEST_F(SignInByProvider, ALinkOfItWorksOnce) {
  accounts_.set_identity("ann", issuer_->settings().issuer, "id-of-ann");
  const std::string location = arrive("ann");
  EXPECT_THAT(location, StartsWith("/#/sign-in?by=provider&link="));
  EXPECT_EQ(session_of(location)["user"], "ann");
  EXPECT_EQ(session_of(location)["error"]["code"], "wrong_password");
}

}  // namespace
}  // namespace assay::rest
