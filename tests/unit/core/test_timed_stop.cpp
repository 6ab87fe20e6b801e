#include <gtest/gtest.h>

#include "core/timed_stop.h"
#include "eventually.h"

namespace assay {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""h;

TEST(TimedStop, IsRequestedWhenTheTimeIsOver) {
  const TimedStop stop({}, 20ms);
  EXPECT_TRUE(testing::eventually([&] { return stop.token().stop_requested(); }));
  EXPECT_TRUE(stop.expired());
}

TEST(TimedStop, IsRequestedWithItsParentBeforeThat) {
  std::stop_source parent;
  const TimedStop stop(parent.get_token(), 1h);
  EXPECT_FALSE(stop.token().stop_requested());
  parent.request_stop();
  EXPECT_TRUE(stop.token().stop_requested());
  EXPECT_FALSE(stop.expired());
}

TEST(TimedStop, WithoutALimitHasItsParentAlone) {
  std::stop_source parent;
  const TimedStop stop(parent.get_token(), std::nullopt);
  EXPECT_FALSE(stop.expired());
  EXPECT_FALSE(stop.token().stop_requested());
  parent.request_stop();
  EXPECT_TRUE(stop.token().stop_requested());
  EXPECT_FALSE(stop.expired());
}

}  // namespace
}  // namespace assay
