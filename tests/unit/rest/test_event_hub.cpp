#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rest/event_hub.h"

namespace assay::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Heard : serve::HttpStream {
  bool write(std::string_view bytes) override {
    if (ended) return false;
    text += bytes;
    return true;
  }
  [[nodiscard]] std::size_t room() const override { return 1000; }
  [[nodiscard]] bool gone() const override { return ended; }
  void end() override { ended = true; }
  std::string text;
  bool ended = false;
};

platform::JobEvent event(jobs::JobId id) {
  return {.id = id, .owner = "ann", .team = "vision", .words = "exit code 3 of rank 2"};
}

TEST(EventHubTest, EverybodyHearsOfAJobAndThoseWhoMayReadItWhatWasSaid) {
  EventHub hub;
  const auto mine = std::make_shared<Heard>();
  const auto foreign = std::make_shared<Heard>();
  hub.add({.name = "ann", .role = jobs::Role::member, .teams = {"vision"}}, mine, 0);
  hub.add({.name = "eve", .role = jobs::Role::member, .teams = {"speech"}}, foreign, 0);
  hub.publish(event(7));
  EXPECT_THAT(mine->text, HasSubstr("\"words\":\"exit code 3 of rank 2\""));
  EXPECT_THAT(foreign->text, HasSubstr("\"id\":7"));
  EXPECT_THAT(foreign->text, Not(HasSubstr("exit code")));
}

TEST(EventHubTest, WhoComesBackHearsWhatWasMissed) {
  EventHub hub;
  const auto first = std::make_shared<Heard>();
  hub.add({.name = "ann", .role = jobs::Role::member}, first, 0);
  hub.publish(event(1));
  const auto at = first->text.find("id: ") + 4;
  const auto number = std::stoll(first->text.substr(at));
  hub.publish(event(2));
  const auto again = std::make_shared<Heard>();
  hub.add({.name = "ann", .role = jobs::Role::member}, again, number);
  EXPECT_THAT(again->text, HasSubstr("\"id\":2"));
  EXPECT_THAT(again->text, Not(HasSubstr("\"id\":1")));
}

TEST(EventHubTest, WhoListensIsToldSoAndHearsOfWhatHappensFromThenOn) {
  EventHub hub;
  const auto heard = std::make_shared<Heard>();
  hub.add({.name = "ann", .role = jobs::Role::member}, heard, 0);
  EXPECT_EQ(heard->text, "event: listening\ndata: {}\n\n");
  hub.publish(event(3));
  EXPECT_THAT(heard->text, HasSubstr("\"id\":3"));
}

TEST(EventHubTest, WhoMissedMoreThanIsKeptIsTold) {
  EventHub hub;
  for (int i = 0; i < 1100; ++i) hub.publish(event(i));
  const auto late = std::make_shared<Heard>();
  hub.add({.name = "ann", .role = jobs::Role::member}, late, 5);
  EXPECT_THAT(late->text, HasSubstr("event: missed"));
}

TEST(EventHubTest, AStreamThatWasEndedIsForgotten) {
  EventHub hub;
  const auto mine = std::make_shared<Heard>();
  hub.add({.name = "ann"}, mine, 0);
  EXPECT_EQ(hub.size(), 1U);
  mine->end();
  EXPECT_EQ(hub.size(), 0U);
}

}  // namespace
}  // namespace assay::rest
