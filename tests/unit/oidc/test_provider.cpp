#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.h"
#include "error_of.h"
#include "oidc/provider.h"
#include "oidc_issuer.h"

namespace assay::oidc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OidcIssuer;

class ProviderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!OidcIssuer::python().empty()) issuer_ = new OidcIssuer;
  }
  static void TearDownTestSuite() {
    delete issuer_;
    issuer_ = nullptr;
  }
  void SetUp() override {
    if (issuer_ == nullptr) GTEST_SKIP() << needs::package("python3-jwt python3-cryptography");
  }

  static std::int64_t now_s() { return wall_now_ns() / 1'000'000'000; }
  static Identity sign_in(Provider& provider, const std::string& who,
                          const std::string& more = {}) {
    const Begun begun = provider.begin(now_s());
    const http::Query back = OidcIssuer::sign_in(begun.location, who, more);
    return provider.finish(begun.kept, OidcIssuer::value_of(back, "state"),
                           OidcIssuer::value_of(back, "code"), now_s());
  }
  static std::string error_of_sign_in(const std::string& more) {
    Provider provider(issuer_->settings());
    return testing::error_of([&] { return sign_in(provider, "ann", more); });
  }

  static OidcIssuer* issuer_;
};
OidcIssuer* ProviderTest::issuer_ = nullptr;

TEST_F(ProviderTest, SaysWhoSomebodyIs) {
  Provider provider(issuer_->settings());
  const Identity ann = sign_in(provider, "ann", "groups=ml+admins");
  EXPECT_EQ(ann.issuer, issuer_->settings().issuer);
  EXPECT_EQ(ann.subject, "id-of-ann");
  EXPECT_EQ(ann.name, "ann");
  EXPECT_EQ(ann.full_name, "Ann Example");
}

TEST_F(ProviderTest, TakesSignaturesByEllipticCurves) {
  Provider provider(issuer_->settings());
  EXPECT_EQ(sign_in(provider, "ann", "sign=EC").subject, "id-of-ann");
}

TEST_F(ProviderTest, AsksAgainForKeysThatItDoesNotKnow) {
  Provider provider(issuer_->settings());
  const std::int64_t first = now_s();
  EXPECT_EQ(sign_in(provider, "ann").subject, "id-of-ann");
  const auto later = [&](std::int64_t seconds, const std::string& sign) {
    const Begun begun = provider.begin(first);
    const http::Query back = OidcIssuer::sign_in(begun.location, "ann", "sign=" + sign);
    return provider.finish(begun.kept, OidcIssuer::value_of(back, "state"),
                           OidcIssuer::value_of(back, "code"), first + seconds);
  };
  EXPECT_THAT(testing::error_of([&] { return later(1, "never"); }), HasSubstr("signature"));
  EXPECT_THAT(testing::error_of([&] { return later(5, "late"); }), HasSubstr("signature"))
      << "not all the time";
  EXPECT_EQ(later(60, "late").subject, "id-of-ann");
}

TEST_F(ProviderTest, KnowsAKeyThatIsNewSinceItAsked) {
  Provider provider(issuer_->settings());
  const std::int64_t first = now_s();
  EXPECT_EQ(sign_in(provider, "ann").subject, "id-of-ann");
  const Begun begun = provider.begin(first);
  const http::Query back = OidcIssuer::sign_in(begun.location, "ann", "sign=late");
  EXPECT_EQ(provider
                .finish(begun.kept, OidcIssuer::value_of(back, "state"),
                        OidcIssuer::value_of(back, "code"), first + 1)
                .subject,
            "id-of-ann");
}

TEST_F(ProviderTest, RefusesTokensThatItCannotTrust) {
  for (const auto& [wrong, words] : std::map<std::string, std::string>{{"none", "signature"},
                                                                       {"hmac", "signature"},
                                                                       {"stranger", "signature"},
                                                                       {"weak", "signature"},
                                                                       {"changed", "signature"},
                                                                       {"issuer", "issuer"},
                                                                       {"audience", "not for"},
                                                                       {"party", "not for"},
                                                                       {"expired", "expired"},
                                                                       {"future", "future"},
                                                                       {"nonce", "another request"},
                                                                       {"subject", "who"},
                                                                       {"garbage", "no token"}})
    EXPECT_THAT(error_of_sign_in("wrong=" + wrong), HasSubstr(words)) << wrong;
}

TEST_F(ProviderTest, ACodeWorksOnce) {
  Provider provider(issuer_->settings());
  const Begun begun = provider.begin(now_s());
  const http::Query back = OidcIssuer::sign_in(begun.location, "ann");
  const auto finish = [&] {
    return provider.finish(begun.kept, OidcIssuer::value_of(back, "state"),
                           OidcIssuer::value_of(back, "code"), now_s());
  };
  EXPECT_EQ(finish().subject, "id-of-ann");
  EXPECT_THAT(testing::error_of(finish), HasSubstr("invalid_grant"));
}

TEST_F(ProviderTest, WhatAnotherBrowserBeganIsNotFinishedHere) {
  Provider provider(issuer_->settings());
  const Begun mine = provider.begin(now_s());
  const Begun theirs = provider.begin(now_s());
  const http::Query back = OidcIssuer::sign_in(theirs.location, "mallory");
  for (const std::string& kept : {mine.kept, std::string(), std::string("a.b.c.d.e"),
                                  theirs.kept + "x", theirs.kept.substr(1)})
    EXPECT_THAT(testing::error_of([&] {
                  return provider.finish(kept, OidcIssuer::value_of(back, "state"),
                                         OidcIssuer::value_of(back, "code"), now_s());
                }),
                HasSubstr("broken off"))
        << kept;
}

TEST_F(ProviderTest, WhoTakesTooLongBeginsAgain) {
  Provider provider(issuer_->settings());
  const Begun begun = provider.begin(now_s());
  const http::Query back = OidcIssuer::sign_in(begun.location, "ann");
  EXPECT_THAT(testing::error_of([&] {
                return provider.finish(begun.kept, OidcIssuer::value_of(back, "state"),
                                       OidcIssuer::value_of(back, "code"), now_s() + 3600);
              }),
              HasSubstr("too long"));
}

TEST_F(ProviderTest, AWrongSecretIsNotShown) {
  OidcSettings settings = issuer_->settings();
  settings.client_secret = "another secret";
  Provider provider(settings);
  const std::string error = testing::error_of([&] { return sign_in(provider, "ann"); });
  EXPECT_THAT(error, HasSubstr("invalid_client"));
  EXPECT_THAT(error, ::testing::Not(HasSubstr("another secret")));
}

TEST_F(ProviderTest, AnotherServerIsNotTaken) {
  OidcSettings settings = issuer_->settings();
  settings.issuer += "/";  // what answers there calls itself otherwise
  Provider provider(settings);
  EXPECT_THAT(testing::error_of([&] { return provider.begin(now_s()); }),
              HasSubstr("the provider calls itself"));
  settings.issuer = "http://127.0.0.1:1";
  Provider nobody(settings);
  EXPECT_THAT(testing::error_of([&] { return nobody.begin(now_s()); }), HasSubstr("127.0.0.1:1"));
}

TEST_F(ProviderTest, ASilentProviderIsNotWaitedForLong) {
  EXPECT_THAT(error_of_sign_in("wrong=silent"), HasSubstr("127.0.0.1"));
}

TEST_F(ProviderTest, OneThatDripsIsGivenUpInTime) {
  const std::int64_t begun_ns = mono_now_ns();
  EXPECT_THAT(error_of_sign_in("wrong=drip"), HasSubstr("not answered in 10"));
  // At two kilobytes a second it would drip for minutes.
  EXPECT_LT(mono_now_ns() - begun_ns, Nanoseconds(std::chrono::seconds(40)).count());
}

TEST_F(ProviderTest, WhoWaitForTheSameAnswerAreToldTogetherThatItDoesNotCome) {
  OidcSettings settings = issuer_->settings();
  settings.issuer += "/drip";
  Provider provider(settings);
  const std::int64_t begun_ns = mono_now_ns();
  std::vector<std::string> errors(5);
  {
    std::vector<std::jthread> people;
    for (std::string& error : errors)
      people.emplace_back(
          [&] { error = testing::error_of([&] { return provider.begin(now_s()); }); });
  }
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("not answered in 10"));
  EXPECT_LT(mono_now_ns() - begun_ns, Nanoseconds(std::chrono::seconds(30)).count());
}

}  // namespace
}  // namespace assay::oidc
