#include <gtest/gtest.h>

#include "door/open_round.h"

namespace assay::door {
namespace {

Json start(const std::string& name, int round, const std::string& id) {
  return {{"event", "round_start"}, {"case", name}, {"round", round}, {"id", id}};
}
Json end_of(const std::string& name, int round) {
  return {{"event", "round_end"}, {"case", name}, {"round", round}};
}
Json rank(const char* event, const std::string& name, int round, int number) {
  return {{"event", event}, {"case", name}, {"round", round},
          {"rank", number}, {"host", "n1"}, {"pid", 100 + number}};
}

TEST(OpenRound, IsTheOneThatHasNotEnded) {
  std::vector<Json> journal{
      start("a", 1, "r1"), rank("rank_start", "a", 1, 0), end_of("a", 1),
      start("a", 2, "r2"), rank("rank_start", "a", 2, 1), rank("rank_start", "a", 2, 0)};
  const auto open = open_round(journal);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->id, "r2");
  ASSERT_EQ(open->ranks.size(), 2U);
  EXPECT_EQ(open->ranks[0].rank, 0);
  EXPECT_EQ(open->find(1)->pid, 101);
  EXPECT_FALSE(open->find(2));
  journal.push_back(rank("rank_exit", "a", 2, 0));
  EXPECT_EQ(open_round(journal)->ranks.size(), 1U);
  journal.push_back(end_of("a", 2));
  EXPECT_FALSE(open_round(journal));
}

TEST(OpenRound, IsNoneOfARunThatHasEndedOrOfAHook) {
  const Json run_end{{"event", "run_end"}};
  const Json hook{{"event", "round_start"}, {"case", "h"}, {"processes", "p"}};
  EXPECT_FALSE(open_round(std::vector<Json>{}));
  EXPECT_FALSE(open_round(std::vector<Json>{start("a", 1, "r1"), run_end}));
  EXPECT_FALSE(open_round(std::vector<Json>{hook, Json("text")}));
}

// Who runs the job can write in its journal.
TEST(OpenRound, IsFoundBesideRecordsOfAnotherForm) {
  Json exit = rank("rank_exit", "a", 1, 0);
  exit["rests"] = "yes";
  const Json odd{{"event", "rank_start"}, {"case", 7}, {"round", "1"}, {"rank", Json::array()}};
  const auto open =
      open_round(std::vector<Json>{start("a", 1, "r1"), odd, rank("rank_start", "a", 1, 0),
                                   rank("rank_start", "a", 1, 1), exit});
  ASSERT_TRUE(open);
  ASSERT_EQ(open->ranks.size(), 1U);
  EXPECT_EQ(open->ranks[0].rank, 1);
}

}  // namespace
}  // namespace assay::door
