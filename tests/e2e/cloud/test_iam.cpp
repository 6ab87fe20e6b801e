#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/iam.h"
#include "core/parallel.h"
#include "e2e/cloud/emulator_process.h"
#include "error_of.h"
#include "eventually.h"

namespace assay::cloud {
namespace {

using ::assay::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Iam : public EmulatorTest {
 protected:
  IamOptions options() {
    IamOptions options;
    options.endpoint = url();
    options.user = "tester";
    options.password = password_;
    options.domain = "assay";
    options.project_name = "emulated-1";
    return options;
  }
};

TEST_F(Iam, GivesATokenAndKeepsIt) {
  IamTokens tokens(client_, options());
  const std::string first = tokens.get();
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(tokens.get(), first);
  EXPECT_EQ(tokens.project_id(), "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(count("POST iam"), 1U);
}

TEST_F(Iam, MakesOneRequestForManyThreads) {
  IamTokens tokens(client_, options());
  run_parallel(16, 16, {}, [&](std::size_t, const std::stop_token&) { (void)tokens.get(); });
  EXPECT_EQ(count("POST iam"), 1U);
}

TEST_F(Iam, RenewsBeforeItExpires) {
  start({{"token_lifetime_s", 1.0}});
  IamTokens tokens(client_, options());
  const std::string first = tokens.get();
  EXPECT_TRUE(testing::eventually([&] { return tokens.get() != first; }));
}

TEST_F(Iam, RefusesAWrongPasswordWithoutRepeatingIt) {
  IamOptions wrong = options();
  wrong.password = "a-wrong-password";
  IamTokens tokens(client_, wrong);
  EXPECT_THAT(error_of([&] { return tokens.get(); }),
              AllOf(HasSubstr("401"), HasSubstr("username or password"),
                    Not(HasSubstr("a-wrong-password"))));
}

TEST_F(Iam, SaysThatTheProjectIsWrong) {
  IamOptions wrong = options();
  wrong.project_name = "another-9";
  IamTokens tokens(client_, wrong);
  EXPECT_THAT(error_of([&] { return tokens.get(); }), HasSubstr("project"));
}

TEST_F(Iam, GivesTemporaryKeysThatSignAndAreRenewed) {
  IamTokens tokens(client_, options());
  TemporaryCredentials temporary(tokens, std::chrono::minutes(15));
  ObsBucket store(client_, temporary, obs_options(), "bucket-one");
  store.put("key", "with a temporary key");
  const Credentials before = temporary.get();
  EXPECT_FALSE(before.security_token.empty());
  expire_tokens();
  EXPECT_EQ(store.get("key"), "with a temporary key");
  EXPECT_NE(temporary.get().access_key, before.access_key);
}

TEST_F(Iam, RenewsAKeyThatExpiresInTheMiddleOfAnUpload) {
  IamTokens tokens(client_, options());
  TemporaryCredentials temporary(tokens, std::chrono::minutes(15));
  ObsOptions slow = obs_options();
  slow.parallel = 2;
  ObsBucket store(client_, temporary, slow, "bucket-one");
  const auto file = make_file("large", 4 << 20);
  fault({{"kind", "delay"}, {"delay_ms", 30}, {"method", "PUT"}, {"count", -1}});
  std::jthread expiring([&] {
    wait_for_requests("PUT obs", 3);
    expire_tokens();
  });
  EXPECT_EQ(store.put_file("large", file).etag, store.etag_of(file));
  expiring.join();
  EXPECT_GE(count("POST iam"), 4U);  // a token and a key, twice
}

TEST_F(Iam, UnderstandsTheServicesTimes) {
  EXPECT_EQ(parse_iso_utc("2015-11-09T01:42:57.527363Z"), 1447033377527363000);
  EXPECT_EQ(parse_iso_utc("2015-11-09T01:42:57Z"), 1447033377000000000);
  EXPECT_EQ(parse_iso_utc("next year"), std::nullopt);
}

}  // namespace
}  // namespace assay::cloud
