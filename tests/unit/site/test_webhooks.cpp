#include <algorithm>
#include <deque>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.h"
#include "core/hex.h"
#include "core/time.h"
#include "eventually.h"
#include "site/webhooks.h"

namespace assay::site {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A receiver that answers as it is told, and an outbox as the platform has one.
class WebhookTest : public ::testing::Test {
 protected:
  Webhook::Send sender() {
    return [this](const Webhook::Delivery& delivery) -> Webhook::Outcome {
      const std::scoped_lock lock(lock_);
      sent_.push_back(delivery);
      if (delivery.number == unwanted_) return {answer_to_unwanted_, "status 500"};
      if (answers_.empty()) return {otherwise_, "x"};
      const Webhook::Answer answer = answers_.front();
      answers_.pop_front();
      return {answer, "y"};
    };
  }
  Webhook::Outbox outbox() {
    return {[this](std::int64_t after) {
              const std::scoped_lock lock(lock_);
              std::vector<jobs::Notice> page;
              for (const jobs::Notice& one : notices_)
                if (one.number > after && page.size() < page_) page.push_back(one);
              return page;
            },
            [this](std::int64_t number) {
              const std::scoped_lock lock(lock_);
              std::erase_if(notices_, [&](const auto& one) { return one.number == number; });
            }};
  }
  void ended(jobs::JobId job, jobs::State state, jobs::Verdict verdict = jobs::Verdict::valid,
             jobs::Cause cause = jobs::Cause::itself) {
    const std::scoped_lock lock(lock_);
    notices_.push_back({.number = job * 10,
                        .job = job,
                        .name = "train",
                        .owner = "ann",
                        .state = state,
                        .cause = cause,
                        .verdict = verdict,
                        .at_ns = wall_now_ns()});
  }
  std::vector<Webhook::Delivery> sent() {
    const std::scoped_lock lock(lock_);
    return sent_;
  }
  std::vector<std::string> events() {
    std::vector<std::string> out;
    for (const Webhook::Delivery& one : sent()) out.push_back(one.number + " " + one.event);
    return out;
  }
  bool all_told() {
    return testing::eventually([&] {
      const std::scoped_lock lock(lock_);
      return notices_.empty();
    });
  }
  static WebhookOptions options() {
    return {.url = "http://x/hook", .secret = "s", .pause = std::chrono::milliseconds(1)};
  }

  std::mutex lock_;
  std::vector<Webhook::Delivery> sent_;
  std::deque<Webhook::Answer> answers_;
  Webhook::Answer otherwise_ = Webhook::Answer::taken;
  std::deque<jobs::Notice> notices_;
  std::size_t page_ = 100;
  std::string unwanted_;  ///< the number of a notice that is always answered so:
  Webhook::Answer answer_to_unwanted_ = Webhook::Answer::failed;
};

TEST_F(WebhookTest, TellsWhatEndedAndHow) {
  ended(1, jobs::State::finished);
  ended(2, jobs::State::failed);
  ended(3, jobs::State::finished, jobs::Verdict::invalid);
  const Webhook hook(options(), sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_THAT(events(), ElementsAre("10 finished", "20 failed", "30 invalid"));
  EXPECT_THAT(sent()[2].body, HasSubstr("\"verdict\":\"INVALID\""));
}

TEST_F(WebhookTest, SaysNothingOfJobsThatSomebodyStopped) {
  ended(1, jobs::State::killed, jobs::Verdict::none, jobs::Cause::person);
  ended(2, jobs::State::killed, jobs::Verdict::none, jobs::Cause::rejected);
  const Webhook hook(options(), sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_TRUE(sent().empty());
}

TEST_F(WebhookTest, TellsOfJobsThatThePlatformStopped) {
  ended(1, jobs::State::killed, jobs::Verdict::none, jobs::Cause::time_limit);
  ended(2, jobs::State::killed, jobs::Verdict::none, jobs::Cause::dependency);
  ended(3, jobs::State::killed, jobs::Verdict::none, jobs::Cause::idle_limit);
  const Webhook hook(options(), sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_THAT(events(), ElementsAre("10 stopped", "20 stopped", "30 stopped"));
}

TEST_F(WebhookTest, SaysHowTheJobIsCalledAndWhereItIs) {
  ended(1, jobs::State::finished);
  WebhookOptions known = options();
  known.server = "https://assay.example.com";
  const Webhook hook(known, sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_THAT(sent()[0].body,
              AllOf(HasSubstr("\"name\":\"train\""),
                    HasSubstr("\"page\":\"https://assay.example.com/#/jobs/1/brief\"")));
}

TEST_F(WebhookTest, SignsWhatItSends) {
  ended(1, jobs::State::finished);
  const Webhook hook(options(), sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_EQ(sent()[0].signature, "sha256=" + to_hex(hmac(Hash::sha256, "s", sent()[0].body)));
}

TEST_F(WebhookTest, IsWokenByNews) {
  Webhook hook(options(), sender(), outbox());
  ended(1, jobs::State::finished);
  hook.wake();
  EXPECT_TRUE(all_told());
}

TEST_F(WebhookTest, TriesAgainUnderTheSameNumberUntilItIsTaken) {
  answers_ = std::deque<Webhook::Answer>(12, Webhook::Answer::failed);
  ended(1, jobs::State::finished);
  ended(2, jobs::State::finished);
  const Webhook hook(options(), sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_EQ(sent().size(), 14U);
  EXPECT_THAT(events(), Contains("10 finished").Times(::testing::Ge(2)));
}

// The pause of the first is an hour: who waits for it never ends.
TEST_F(WebhookTest, ANoticeThatIsNotTakenKeepsNoOtherWaiting) {
  for (const auto answer : {Webhook::Answer::failed, Webhook::Answer::refused}) {
    unwanted_ = "10";
    answer_to_unwanted_ = answer;
    page_ = 1;
    for (const jobs::JobId id : {1, 2, 3}) ended(id, jobs::State::finished);
    WebhookOptions slow = options();
    slow.pause = slow.max_pause = std::chrono::hours(1);
    const Webhook hook(slow, sender(), outbox());
    EXPECT_TRUE(testing::eventually([&] {
      const std::scoped_lock lock(lock_);
      return notices_.size() == 1;
    }));
    EXPECT_THAT(events(), ElementsAre("10 finished", "20 finished", "30 finished"));
    const std::scoped_lock lock(lock_);
    notices_.clear();
    sent_.clear();
  }
}

// One to which nobody answers (it hangs the receiver up) is tried after all the others.
TEST_F(WebhookTest, WhereNobodyAnswersWhatWasTriedLeastIsNext) {
  unwanted_ = "10";
  answer_to_unwanted_ = Webhook::Answer::silent;
  for (const jobs::JobId id : {1, 2, 3}) ended(id, jobs::State::finished);
  const Webhook hook(options(), sender(), outbox());
  ASSERT_TRUE(testing::eventually([&] {
    const std::scoped_lock lock(lock_);
    return notices_.size() == 1;
  }));
  EXPECT_THAT(events(), ::testing::IsSupersetOf({"10 finished", "20 finished", "30 finished"}));
  EXPECT_EQ(events()[1], "20 finished");
}

TEST_F(WebhookTest, TheFirstFailureAndEveryChangeIsLogged) {
  answers_ = {Webhook::Answer::silent, Webhook::Answer::silent, Webhook::Answer::failed,
              Webhook::Answer::failed};
  ended(1, jobs::State::finished);
  ::testing::internal::CaptureStderr();
  {
    const Webhook hook(options(), sender(), outbox());
    EXPECT_TRUE(all_told());
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 3) << log;
  EXPECT_THAT(log, AllOf(HasSubstr("http://x/hook: y; it is tried again"),
                         HasSubstr("it answers again"), HasSubstr("job 1 is not taken: y")));
}

TEST_F(WebhookTest, DropsWhatTheReceiverDoesNotWant) {
  unwanted_ = "10";
  answer_to_unwanted_ = Webhook::Answer::refused;
  ended(1, jobs::State::finished);
  ended(2, jobs::State::finished);
  const Webhook hook(options(), sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_EQ(sent().size(), 6U);
}

TEST_F(WebhookTest, GivesUpWhenTheJobEndedLongAgo) {
  otherwise_ = Webhook::Answer::failed;
  WebhookOptions impatient = options();
  impatient.give_up = std::chrono::nanoseconds(1);
  ended(1, jobs::State::finished);
  const Webhook hook(impatient, sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_EQ(sent().size(), 5U) << "not before five attempts";
}

TEST_F(WebhookTest, IsStoppedWhileItWaitsAndTheNextOneGoesOn) {
  answers_ = {Webhook::Answer::failed};
  ended(1, jobs::State::finished);
  {
    WebhookOptions slow = options();
    slow.pause = slow.max_pause = std::chrono::hours(1);
    const Webhook hook(slow, sender(), outbox());
    ASSERT_TRUE(testing::eventually([&] { return sent().size() == 1; }));
  }
  ASSERT_EQ(notices_.size(), 1U) << "not told yet";
  const Webhook next(options(), sender(), outbox());
  ASSERT_TRUE(all_told());
  EXPECT_EQ(sent()[0].body, sent()[1].body);
}

}  // namespace
}  // namespace assay::site
