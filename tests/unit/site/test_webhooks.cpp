#include <atomic>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.h"
#include "core/hex.h"
#include "eventually.h"
#include "site/webhooks.h"

namespace assay::site {
namespace {

using ::testing::HasSubstr;

class WebhooksTest : public ::testing::Test {
 protected:
  // Fails as often as told, then takes.
  Webhooks::Send sender() {
    return [this](const Webhooks::Delivery& delivery) {
      const std::scoped_lock lock(lock_);
      sent_.push_back(delivery);
      return static_cast<int>(sent_.size()) > failures_;
    };
  }
  std::vector<Webhooks::Delivery> sent() {
    const std::scoped_lock lock(lock_);
    return sent_;
  }
  static platform::JobEvent ended(jobs::JobId id, jobs::State state) {
    return {.id = id, .owner = "ann", .state = state};
  }
  WebhookOptions options() {
    return {.urls = {"http://x/hook"}, .secret = "s", .pause = std::chrono::milliseconds(1)};
  }

  std::mutex lock_;
  std::vector<Webhooks::Delivery> sent_;
  int failures_ = 0;
};

TEST_F(WebhooksTest, TellWhatEndedAndHow) {
  Webhooks hooks(options(), sender(), [](jobs::JobId id) {
    return id == 3 ? jobs::Verdict::invalid : jobs::Verdict::valid;
  });
  hooks.happened(ended(1, jobs::State::running));
  hooks.happened(ended(1, jobs::State::finished));
  hooks.happened(ended(2, jobs::State::failed));
  hooks.happened(ended(3, jobs::State::finished));
  ASSERT_TRUE(testing::eventually([&] { return sent().size() == 3; }));
  EXPECT_EQ(sent()[0].event, "finished");
  EXPECT_EQ(sent()[1].event, "failed");
  EXPECT_EQ(sent()[2].event, "invalid");
  EXPECT_THAT(sent()[2].body, HasSubstr("\"verdict\":\"INVALID\""));
}

TEST_F(WebhooksTest, AreSigned) {
  Webhooks hooks(options(), sender(), [](jobs::JobId) { return jobs::Verdict::valid; });
  hooks.happened(ended(1, jobs::State::finished));
  ASSERT_TRUE(testing::eventually([&] { return sent().size() == 1; }));
  EXPECT_EQ(sent()[0].signature, "sha256=" + to_hex(hmac(Hash::sha256, "s", sent()[0].body)));
}

TEST_F(WebhooksTest, AreTriedAgainAFewTimes) {
  failures_ = 2;
  Webhooks hooks(options(), sender(), [](jobs::JobId) { return jobs::Verdict::valid; });
  hooks.happened(ended(1, jobs::State::finished));
  ASSERT_TRUE(testing::eventually([&] { return sent().size() == 3; }));
  failures_ = 1000;
  hooks.happened(ended(2, jobs::State::finished));
  hooks.happened(ended(3, jobs::State::finished));
  ASSERT_TRUE(testing::eventually([&] { return sent().size() == 13; })) << "5 attempts each";
}

TEST_F(WebhooksTest, DoNotHoldUpTheEnd) {
  failures_ = 1000;
  WebhookOptions slow = options();
  slow.pause = std::chrono::hours(1);
  {
    Webhooks hooks(slow, sender(), [](jobs::JobId) { return jobs::Verdict::valid; });
    hooks.happened(ended(1, jobs::State::finished));
    ASSERT_TRUE(testing::eventually([&] { return sent().size() == 1; }));
  }
  EXPECT_EQ(sent().size(), 1U);
}

}  // namespace
}  // namespace assay::site
