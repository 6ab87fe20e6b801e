#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "oidc/oidc_settings.h"
#include "temporary_folder.h"

namespace assay::oidc {
namespace {

using jobs::Role;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OidcSettingsTest : public ::testing::Test {
 protected:
  OidcSettings read(const std::string& more, const std::string& issuer = "https://login.example") {
    return read_oidc_settings(folder_.write("oidc.yaml", "issuer: " + issuer +
                                                             "\nclient_id: assay\n"
                                                             "url: https://assay.example/\n" +
                                                             more));
  }
  std::string error(const std::string& more, const std::string& issuer = "https://login.example") {
    return testing::error_of([&] { return read(more, issuer); });
  }
  testing::TemporaryFolder folder_;
};

TEST_F(OidcSettingsTest, NeedsThreeKeys) {
  const OidcSettings settings = read("");
  EXPECT_EQ(settings.url, "https://assay.example");
  EXPECT_EQ(settings.title, "login.example");
  EXPECT_THAT(settings.scopes, ElementsAre("openid", "profile", "email"));
  EXPECT_FALSE(settings.new_accounts);
  EXPECT_FALSE(settings.link_existing);
}

TEST_F(OidcSettingsTest, TheHighestRoleOfSomebodysGroupsCounts) {
  const OidcSettings settings =
      read("roles: {admin: [ops], member: [ml, vision], viewer: [staff]}");
  EXPECT_EQ(settings.role_of({"staff", "ml"}), Role::member);
  EXPECT_EQ(settings.role_of({"ops", "staff"}), Role::admin);
  EXPECT_FALSE(settings.role_of({"others"}));
}

TEST_F(OidcSettingsTest, ASecretIsReadFromAFile) {
  const auto secret = folder_.write("secret", "s3cret\n");
  EXPECT_EQ(read("client_secret_file: " + secret.string()).client_secret, "s3cret");
  EXPECT_THAT(error("client_secret: s3cret"), HasSubstr("client_secret_file"));
}

TEST_F(OidcSettingsTest, MistakesAreSaidWithTheirPlace) {
  EXPECT_THAT(error("new_accounts: king"), HasSubstr("oidc.yaml:4"));
  EXPECT_THAT(error("roles: {king: [x]}"), HasSubstr("not a role: 'king'"));
  EXPECT_THAT(error("", "http://login.example"), HasSubstr("https://"));
  EXPECT_EQ(error("", "http://127.0.0.1:9000"), "no error");
  EXPECT_THAT(error("", "login.example"), HasSubstr("oidc.yaml:1"));
  EXPECT_THAT(error("scopes: [profile]"), HasSubstr("oidc.yaml:4"));
  EXPECT_EQ(error("scopes: [profile, openid]"), "no error");
  for (const char* url : {"notaurl", "https://assay.example/there", "https://assay.example/?a=b"})
    EXPECT_THAT(testing::error_of([&] {
                  return read_oidc_settings(folder_.write(
                      "oidc.yaml", std::string("issuer: https://login.example\nclient_id: assay\n"
                                               "url: ") +
                                       url + "\n"));
                }),
                HasSubstr("oidc.yaml:3"))
        << url;
}

}  // namespace
}  // namespace assay::oidc
