#include <gmock/gmock.h>

#include "launch/agents/left_agents.h"

namespace assay::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Json agent(const char* host, const Json& processes) {
  return {{"event", "agent_start"}, {"node", 0}, {"host", host}, {"processes", processes}};
}

TEST(LeftAgents, AreThoseSinceTheRunEndedLast) {
  const Json start{{"event", "run_start"}};
  const Json resume{{"event", "run_resume"}};
  const Json end{{"event", "run_end"}};
  EXPECT_THAT(left_agents({start, agent("a", {"1", "2"}), end}), IsEmpty());
  EXPECT_THAT(left_agents({start, agent("a", {"1", "2"}), end, resume, agent("b", {"3"})}),
              ElementsAre(Pair("b", ElementsAre("3"))));
  // The second controller was killed, too.
  EXPECT_THAT(left_agents({start, agent("a", {"1", "2"}), resume, agent("a", {"3"})}),
              ElementsAre(Pair("a", ElementsAre("1", "2", "3"))));
}

TEST(LeftAgents, HadJobsOfTheScheduler) {
  Json first = agent("a", {"1"});
  first["job"] = "17";
  Json second = agent("b", {"2"});
  second["job"] = "17+1";
  const Json end{{"event", "run_end"}};
  EXPECT_THAT(left_jobs({first, second, agent("c", {"3"})}), ElementsAre("17", "17+1"));
  EXPECT_THAT(left_jobs({first, end, agent("c", {"3"})}), IsEmpty());
}

TEST(LeftAgents, WhatIsNoListOfNamesIsNone) {
  EXPECT_THAT(left_agents({agent("a", Json()), agent("b", {1, Json::object()})}), IsEmpty());
}

}  // namespace
}  // namespace assay::launch
