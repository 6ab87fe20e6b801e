#include <vector>

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include "agent/visitors.h"
#include "core/json.h"
#include "entry/frame.h"

namespace assay::agent {
namespace {

using entry::FrameKind;
using ::testing::HasSubstr;

Relay command(const std::string& text) {
  return relay_of("r1", /*peer=*/3, /*channel=*/7, /*back=*/false, FrameKind::command,
                  dump_line(Json{{"host", "beta"}, {"command", text}}));
}

void expect_turned_away(const std::vector<Relay>& said) {
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].peer, 3);
  EXPECT_EQ(said[0].channel, 7U);
  EXPECT_TRUE(said[0].back);
  EXPECT_EQ(said[0].kind.front(), static_cast<char>(FrameKind::failure));
  EXPECT_THAT(content_of(said[0]).value_or(""), HasSubstr("have ended on that node"));
}

TEST(Visitors, CallersOfProgramsThatStillRunAreToldThatNobodyAnswers) {
  asio::io_context loop;
  std::vector<Relay> said;
  NodeVisitors visitors(loop, "r1", {}, [&](const Relay& relay) { said.push_back(relay); });
  visitors.receive(command("sleep 600"));
  ASSERT_TRUE(visitors.busy());
  visitors.turn_callers_away();
  expect_turned_away(said);
  visitors.signal(SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

TEST(Visitors, WithoutProgramsNobodyIsTurnedAway) {
  asio::io_context loop;
  std::vector<Relay> said;
  const NodeVisitors visitors(loop, "r1", {}, [&](const Relay& relay) { said.push_back(relay); });
  visitors.turn_callers_away();
  EXPECT_TRUE(said.empty());
}

TEST(Visitors, AnAnswerOfNobodyGoesBackToItsCaller) {
  expect_turned_away({answer_of_nobody(command("true"))});
}

}  // namespace
}  // namespace assay::agent
