#include <thread>

#include <gtest/gtest.h>

#include "http/client.h"
#include "http/retry.h"

namespace assay::http {
namespace {

using std::chrono::milliseconds;

TEST(Retry, PausesUniformlyBelowABoundThatDoubles) {
  RetryPolicy policy;
  policy.first_pause = milliseconds(100);
  policy.max_pause = milliseconds(1000);
  std::mt19937_64 random(7);
  for (const auto& [failures, bound_ms] :
       std::vector<std::pair<int, double>>{{1, 100}, {2, 200}, {4, 800}, {5, 1000}, {60, 1000}}) {
    double sum = 0;
    double largest = 0;
    constexpr int count = 4000;
    for (int i = 0; i < count; ++i) {
      const double ms = seconds(jittered_pause(policy, failures, random)) * 1000;
      EXPECT_GE(ms, 0);
      EXPECT_LE(ms, bound_ms);
      sum += ms;
      largest = std::max(largest, ms);
    }
    EXPECT_NEAR(sum / count, bound_ms / 2, bound_ms * 0.03);
    EXPECT_GT(largest, bound_ms * 0.98);
  }
}

TEST(Retry, ReadsRetryAfterAsSecondsAndAsDate) {
  const std::int64_t now = 784111777'000'000'000;  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after("120", now), std::chrono::seconds(120));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", now), std::chrono::seconds(30));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), Nanoseconds(0));
  EXPECT_EQ(parse_retry_after("soon", now), std::nullopt);
  EXPECT_EQ(parse_retry_after("", now), std::nullopt);
}

TEST(Retry, EndsAPauseWhenToldTo) {
  std::stop_source stop;
  std::jthread later([&] { stop.request_stop(); });
  EXPECT_FALSE(pause_unless_stopped(std::chrono::hours(1), stop.get_token()));
  EXPECT_TRUE(pause_unless_stopped(milliseconds(1), {}));
}

TEST(Request, MayBeRepeatedUnlessItIsAPost) {
  Request request;
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE"}) {
    request.method = method;
    EXPECT_TRUE(request.may_repeat()) << method;
  }
  request.method = "POST";
  EXPECT_FALSE(request.may_repeat());
  request.repeatable = true;
  EXPECT_TRUE(request.may_repeat());
}

}  // namespace
}  // namespace assay::http
