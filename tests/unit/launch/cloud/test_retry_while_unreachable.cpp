#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/service_error.h"
#include "core/cancelled.h"
#include "http/exchange_error.h"
#include "launch/cloud/retry_while_unreachable.h"

namespace assay::launch {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::HasSubstr;

class Retry : public ::testing::Test {
 protected:
  RetryWhileUnreachable make(Patience patience) {
    return {60s,     1ms, 2ms, stop_.get_token(), [this](const std::string& text) { said_ = text; },
            patience};
  }
  [[noreturn]] static void busy() {
    throw cloud::ServiceError(503, "SlowDown", ErrorKind::environment, "busy", "host:1", "");
  }
  [[noreturn]] static void silent() { throw http::ExchangeError("GET / got no answer", "host:1"); }

  std::stop_source stop_;
  std::string said_;
};

TEST_F(Retry, WaitsForABusyServiceAndSaysSo) {
  int calls = 0;
  make(Patience::with_a_busy_service)("asking", [&] {
    if (++calls < 13) busy();
  });
  EXPECT_EQ(calls, 13);
  EXPECT_EQ(said_, "asking: busy");
}

TEST_F(Retry, WaitsForAServiceThatTurnsItAwayAndNotForOneThatRefuses) {
  for (const int status : {425, 429, 404}) {
    int calls = 0;
    const auto refused_twice = [&] {
      if (++calls < 3) throw cloud::ServiceError(status, "", ErrorKind::environment, "no", "h", "");
    };
    try {
      make(Patience::with_a_busy_service)("asking", refused_twice);
    } catch (const cloud::ServiceError&) {
    }
    EXPECT_EQ(calls, status == 404 ? 1 : 3) << status;
  }
}

TEST_F(Retry, WaitsForASilentServiceOnlyWhenItIsToldTo) {
  int calls = 0;
  const auto twice_silent = [&] {
    if (++calls < 3) silent();
  };
  EXPECT_THROW(make(Patience::with_a_busy_service)("asking", twice_silent), Error);
  EXPECT_EQ(calls, 1);
  make(Patience::with_silence)("asking", twice_silent);
  EXPECT_EQ(calls, 3);
}

TEST_F(Retry, NamesWhoWasSilentWhenTheTimeIsOver) {
  RetryWhileUnreachable retry = make(Patience::with_silence);
  retry.end_at(mono_now_ns() + Nanoseconds(20ms).count());
  try {
    retry("asking", [&] { silent(); });
    FAIL();
  } catch (const OutOfTime& error) {
    EXPECT_EQ(error.where(), "host:1");
    EXPECT_THAT(error.message(), HasSubstr("asking did not work: GET / got no answer"));
  }
}

TEST_F(Retry, IsOutOfTimeWhenTheWorkWasCancelledForItsLimit) {
  RetryWhileUnreachable retry = make(Patience::with_silence);
  retry.end_at(mono_now_ns() + Nanoseconds(5ms).count());
  EXPECT_THROW(retry("fetching", [&] { throw Cancelled("the work was cancelled"); }), OutOfTime);
}

TEST_F(Retry, EndsWhenTheUserAsksTo) {
  stop_.request_stop();
  EXPECT_THROW(make(Patience::with_silence)("asking", [&] { silent(); }), Interrupted);
}

TEST_F(Retry, GivesOnWhatTheServiceRefuses) {
  const auto refused = [] {
    throw cloud::ServiceError(403, "AccessDenied", ErrorKind::environment, "no", "host:1", "");
  };
  EXPECT_THROW(make(Patience::with_silence)("asking", refused), cloud::ServiceError);
}

TEST_F(Retry, GivesOnWhatIsWrongOnThisMachineWhereverThatIs) {
  for (const std::string where : {"/data/key.json", "key.json", ""}) {
    int calls = 0;
    const auto no_key = [&] {
      ++calls;
      throw Error(ErrorKind::environment, "there is no access key for the cloud", where);
    };
    EXPECT_THROW(make(Patience::with_silence)("asking", no_key), Error);
    EXPECT_EQ(calls, 1) << where;
  }
}

}  // namespace
}  // namespace assay::launch
