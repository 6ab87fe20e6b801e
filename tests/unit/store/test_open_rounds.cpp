#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/open_rounds.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Json start(const std::string& name, int round, const std::string& id) {
  return {{"event", "round_start"},
          {"case", name},
          {"round", round},
          {"id", id},
          {"nodes", {{{"node", 0}, {"host", "n1"}}, {{"node", 1}, {"host", "n2"}}}}};
}
Json hook(const std::string& name, const std::string& processes) {
  return {{"event", "round_start"}, {"case", name}, {"round", 1}, {"processes", processes}};
}
Json end_of(const std::string& name, int round) {
  return {{"event", "round_end"}, {"case", name}, {"round", round}};
}
Json rank(const char* event, const std::string& name, int round, int number) {
  return {{"event", event}, {"case", name}, {"round", round},
          {"rank", number}, {"host", "n1"}, {"pid", 100 + number}};
}
Json plain(const char* event) {
  return {{"event", event}};
}

std::vector<std::string> ids(const std::vector<OpenRound>& rounds) {
  std::vector<std::string> out;
  for (const OpenRound& round : rounds) out.push_back(round.id);
  return out;
}

TEST(OpenRounds, AreThoseWithoutAnEnd) {
  const auto open = open_rounds({start("b", 1, "r1"), start("a", 1, "r2"), end_of("b", 1),
                                 start("a", 2, "r3"), hook("h", "p1")});
  EXPECT_THAT(ids(open), ElementsAre("r2", "r3", "p1"));
  EXPECT_EQ(open[0].name, (RoundName{"a", 1}));
  EXPECT_THAT(open[0].hosts, ElementsAre("n1", "n2"));
  EXPECT_TRUE(open[2].hook);
  EXPECT_THAT(open[2].hosts, IsEmpty());
}

TEST(OpenRounds, ARoundThatIsBegunAgainIsOpenOnceWithItsNewName) {
  EXPECT_THAT(ids(open_rounds({start("a", 1, "r1"), plain("run_resume"), start("a", 1, "r2")})),
              ElementsAre("r2"));
  EXPECT_THAT(open_rounds({start("a", 1, "r1"), start("a", 1, "r2"), end_of("a", 1)}), IsEmpty());
}

TEST(OpenRounds, AJobOfACloudHasNoProcessesHere) {
  EXPECT_THAT(open_rounds({start("a", 1, "")}), IsEmpty());
}

TEST(RunningRound, IsTheOneThatHasNotEnded) {
  std::vector<Json> journal{
      start("a", 1, "r1"), rank("rank_start", "a", 1, 0), end_of("a", 1),
      start("a", 2, "r2"), rank("rank_start", "a", 2, 1), rank("rank_start", "a", 2, 0)};
  const auto open = running_round(journal);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->id, "r2");
  ASSERT_EQ(open->ranks.size(), 2U);
  EXPECT_EQ(open->ranks[0].rank, 0);
  EXPECT_EQ(open->ranks[0].host, "n1");
  EXPECT_EQ(open->find(1)->pid, 101);
  EXPECT_FALSE(open->find(2));
  journal.push_back(rank("rank_exit", "a", 2, 0));
  EXPECT_EQ(running_round(journal)->ranks.size(), 1U);
  journal.push_back(end_of("a", 2));
  EXPECT_FALSE(running_round(journal));
}

TEST(RunningRound, KeepsRanksThatOnlySleep) {
  Json exit = rank("rank_exit", "a", 1, 0);
  exit["rests"] = true;
  EXPECT_TRUE(running_round({start("a", 1, "r1"), rank("rank_start", "a", 1, 0), exit})->find(0));
}

TEST(RunningRound, IsNoneOfARunThatHasEndedOrOfAHook) {
  EXPECT_FALSE(running_round({}));
  EXPECT_FALSE(running_round({start("a", 1, "r1"), plain("run_end")}));
  EXPECT_FALSE(running_round({hook("h", "p"), Json("text")}));
}

TEST(RunningRound, IsNoneThatAControllerBeforeLeft) {
  const std::vector<Json> journal{start("a", 1, "r1"), plain("run_resume")};
  EXPECT_FALSE(running_round(journal));
  EXPECT_THAT(ids(open_rounds(journal)), ElementsAre("r1")) << "something of it may be left";
}

// Who runs the job can write in its journal.
TEST(RunningRound, IsFoundBesideRecordsOfAnotherForm) {
  Json exit = rank("rank_exit", "a", 1, 0);
  exit["rests"] = "yes";
  const Json odd{{"event", "rank_start"}, {"case", 7}, {"round", "1"}, {"rank", Json::array()}};
  const auto open = running_round({start("a", 1, "r1"), odd, rank("rank_start", "a", 1, 0),
                                   rank("rank_start", "a", 1, 1), exit});
  ASSERT_TRUE(open);
  ASSERT_EQ(open->ranks.size(), 1U);
  EXPECT_EQ(open->ranks[0].rank, 1);
}

}  // namespace
}  // namespace assay::store
