#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accounts/accounts.h"
#include "accounts/secret.h"
#include "core/files.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::accounts {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kStart = 1'800'000'000'000'000'000;
constexpr WallTime kHour = 3'600'000'000'000;

class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest() {
    accounts_.put({.name = "root", .role = jobs::Role::admin}, kStart);
    accounts_.put({.name = "ann"}, kStart);
    accounts_.set_password("ann", "correct horse battery");
  }
  NewSession signed_in() { return *accounts_.sign_in("ann", "correct horse battery", kStart); }

  testing::TemporaryFolder folder_;
  Accounts accounts_{folder_.path() / "accounts.db"};
};

TEST_F(SessionsTest, TheRightPasswordSignsIn) {
  const NewSession made = signed_in();
  const auto session = accounts_.session(made.secret, kStart + 1);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->user, "ann");
  EXPECT_EQ(session->csrf, made.session.csrf);
  EXPECT_NE(session->csrf, made.secret);
}

TEST_F(SessionsTest, WrongNamesAndPasswordsDoNot) {
  EXPECT_FALSE(accounts_.sign_in("ann", "wrong horse battery", kStart));
  EXPECT_FALSE(accounts_.sign_in("nobody", "correct horse battery", kStart));
  EXPECT_FALSE(accounts_.sign_in("root", "", kStart));  // who has no password cannot
  EXPECT_FALSE(accounts_.sign_in("ann", std::string(1 << 20, 'x'), kStart));
  EXPECT_FALSE(accounts_.sign_in("' OR 1=1 --", "x", kStart));
}

TEST_F(SessionsTest, EverySignInHasASecretOfItsOwn) {
  EXPECT_NE(signed_in().secret, signed_in().secret);
  EXPECT_NE(signed_in().session.csrf, signed_in().session.csrf);
}

TEST_F(SessionsTest, OneThatNobodyMadeIsNone) {
  EXPECT_FALSE(accounts_.session("", kStart));
  EXPECT_FALSE(accounts_.session(std::string(64, 'a'), kStart));
}

TEST_F(SessionsTest, EndsWithoutUseAndAfterItsTime) {
  const std::string idle = signed_in().secret;
  EXPECT_TRUE(accounts_.session(idle, kStart + 11 * kHour));
  EXPECT_TRUE(accounts_.session(idle, kStart + 22 * kHour));
  EXPECT_FALSE(accounts_.session(idle, kStart + 35 * kHour));
  EXPECT_FALSE(accounts_.session(idle, kStart + 23 * kHour)) << "it was forgotten";
  const std::string busy = signed_in().secret;
  for (WallTime hour = 0; hour < 168; hour += 10)
    EXPECT_TRUE(accounts_.session(busy, kStart + hour * kHour)) << hour;
  EXPECT_FALSE(accounts_.session(busy, kStart + 168 * kHour));
}

TEST_F(SessionsTest, EndsBySigningOut) {
  const std::string secret = signed_in().secret;
  accounts_.sign_out(secret);
  EXPECT_FALSE(accounts_.session(secret, kStart + 1));
}

TEST_F(SessionsTest, WhoIsDisabledIsOut) {
  const std::string secret = signed_in().secret;
  const std::string token = accounts_.make_token("ann", "laptop", 0, kStart);
  const std::string link = accounts_.make_link("ann", kStart);
  accounts_.put({.name = "ann", .disabled = true}, kStart);
  EXPECT_FALSE(accounts_.session(secret, kStart + 1));
  EXPECT_FALSE(accounts_.token_use(token, kStart + 1));
  EXPECT_FALSE(accounts_.sign_in_by_link(link, kStart + 1));
  EXPECT_FALSE(accounts_.sign_in("ann", "correct horse battery", kStart));
}

TEST_F(SessionsTest, ANewPasswordEndsTheOthers) {
  const std::string here = signed_in().secret;
  const std::string there = signed_in().secret;
  accounts_.set_password("ann", "another long password", here);
  EXPECT_TRUE(accounts_.session(here, kStart + 1));
  EXPECT_FALSE(accounts_.session(there, kStart + 1));
}

TEST_F(SessionsTest, ALinkWorksOnceAndForItsTime) {
  const std::string link = accounts_.make_link("root", kStart);
  ASSERT_TRUE(accounts_.sign_in_by_link(link, kStart + 1));
  EXPECT_FALSE(accounts_.sign_in_by_link(link, kStart + 2));
  const std::string late = accounts_.make_link("root", kStart);
  EXPECT_FALSE(accounts_.sign_in_by_link(late, kStart + kHour));
  EXPECT_THAT(error_of([&] { (void)accounts_.make_link("nobody", kStart); }),
              HasSubstr("no user 'nobody'"));
}

TEST_F(SessionsTest, ATokenIsItsUserUntilItExpiresOrIsRevoked) {
  const std::string token = accounts_.make_token("ann", "laptop", kStart + kHour, kStart);
  const auto use = accounts_.token_use(token, kStart + 1);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->user, "ann");
  EXPECT_EQ(use->expires_ns, kStart + kHour);
  EXPECT_FALSE(accounts_.token_use(token, kStart + kHour));
  EXPECT_FALSE(accounts_.token_use(token + "0", kStart + 1));
  EXPECT_TRUE(accounts_.revoke_token("ann", "laptop"));
  EXPECT_FALSE(accounts_.token_use(token, kStart + 1));
  EXPECT_FALSE(accounts_.revoke_token("ann", "laptop"));
}

TEST_F(SessionsTest, ATokenThatATokenMadeEndsWithIt) {
  const auto make = [&](const std::string& name, const std::string& with) {
    return accounts_.make_token("ann", name, 0, kStart,
                                {"ann", Credential::Kind::token, with.empty() ? "" : kept(with)});
  };
  const std::string first = make("first", "");
  const std::string second = make("second", first);
  const std::string third = make("third", second);
  const std::string other = make("other", "");
  EXPECT_TRUE(accounts_.token_use(third, kStart));
  EXPECT_TRUE(accounts_.revoke_token("ann", "first"));
  EXPECT_FALSE(accounts_.token_use(second, kStart));
  EXPECT_FALSE(accounts_.token_use(third, kStart));
  EXPECT_TRUE(accounts_.token_use(other, kStart));
}

TEST_F(SessionsTest, ATokenOfAnotherIsNotRevoked) {
  const std::string token = accounts_.make_token("ann", "laptop", 0, kStart);
  EXPECT_FALSE(accounts_.revoke_token("root", "laptop"));
  EXPECT_TRUE(accounts_.token_use(token, kStart));
}

TEST_F(SessionsTest, WhatLetSomebodyInIsAskedForAgain) {
  using Kind = Credential::Kind;
  const std::string secret = signed_in().secret;
  const std::string token = accounts_.make_token("ann", "laptop", kStart + kHour, kStart);
  const Credential by_session{"ann", Kind::session, kept(secret)};
  const Credential by_token{"ann", Kind::token, kept(token)};
  ASSERT_TRUE(accounts_.holder(by_session, kStart + 1));
  EXPECT_EQ(accounts_.holder(by_token, kStart + 1)->name, "ann");
  EXPECT_FALSE(accounts_.holder({"root", Kind::token, kept(token)}, kStart + 1));
  EXPECT_FALSE(accounts_.holder({"ann", Kind::session, kept(token)}, kStart + 1));
  EXPECT_FALSE(accounts_.holder({}, kStart + 1));
  EXPECT_FALSE(accounts_.holder(by_token, kStart + kHour)) << "it has expired";
  accounts_.sign_out(secret);
  EXPECT_FALSE(accounts_.holder(by_session, kStart + 1));
  EXPECT_TRUE(accounts_.holder(by_token, kStart + 1));
  EXPECT_TRUE(accounts_.revoke_token("ann", "laptop"));
  EXPECT_FALSE(accounts_.holder(by_token, kStart + 1));
}

TEST_F(SessionsTest, WhoIsShutOutHasNothingLeft) {
  accounts_.put({.name = "ann", .role = jobs::Role::admin}, kStart);
  const std::string secret = signed_in().secret;
  const std::string token = accounts_.make_token("ann", "laptop", 0, kStart);
  const std::string link = accounts_.make_link("ann", kStart);
  EXPECT_TRUE(accounts_.shut_out("ann"));
  EXPECT_FALSE(accounts_.session(secret, kStart + 1));
  EXPECT_FALSE(accounts_.token_use(token, kStart + 1));
  EXPECT_FALSE(accounts_.sign_in_by_link(link, kStart + 1));
  EXPECT_EQ(accounts_.find("ann")->role, jobs::Role::viewer);
  const std::string last = accounts_.make_token("root", "laptop", 0, kStart);
  EXPECT_FALSE(accounts_.shut_out("root"));
  EXPECT_FALSE(accounts_.token_use(last, kStart + 1));
  EXPECT_EQ(accounts_.find("root")->role, jobs::Role::admin) << "there would be none left";
}

TEST_F(SessionsTest, ALinkForACookieIsNoneForAnAddress) {
  const std::string cookie = accounts_.make_link("ann", kStart, LinkBy::cookie);
  const std::string address = accounts_.make_link("ann", kStart);
  EXPECT_FALSE(accounts_.sign_in_by_link(cookie, kStart + 1));
  EXPECT_FALSE(accounts_.sign_in_by_link("cookie:" + cookie, kStart + 1));
  EXPECT_FALSE(accounts_.sign_in_by_link(address, kStart + 1, LinkBy::cookie));
  EXPECT_FALSE(accounts_.link_owner(cookie, kStart + 1));
  EXPECT_EQ(accounts_.link_owner(cookie, kStart + 1, LinkBy::cookie), "ann");
  EXPECT_FALSE(accounts_.link_owner(cookie, kStart + kHour, LinkBy::cookie));
  EXPECT_TRUE(accounts_.sign_in_by_link(cookie, kStart + 1, LinkBy::cookie));
  EXPECT_TRUE(accounts_.sign_in_by_link(address, kStart + 1));
}

TEST_F(SessionsTest, NoSecretIsInTheFile) {
  const std::string secret = signed_in().secret;
  const std::string token = accounts_.make_token("ann", "laptop", 0, kStart);
  const std::string link = accounts_.make_link("ann", kStart);
  for (const char* name : {"accounts.db", "accounts.db-wal"}) {
    if (!std::filesystem::exists(folder_.path() / name)) continue;
    const std::string bytes = read_file(folder_.path() / name);
    for (const std::string& hidden : {secret, token, link})
      EXPECT_THAT(bytes, Not(HasSubstr(hidden)));
  }
}

}  // namespace
}  // namespace assay::accounts
