#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/journal_records.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class T>
std::string text_of(const T& record) {
  return dump_line(fields_to_json(record));
}

// Runs that are kept have lines of exactly this form.
TEST(JournalRecords, ARoundOnNodesIsWrittenAsEver) {
  RoundStart start;
  start.id = "r/1";
  start.nodes = {{0, "n1"}};
  start.master_port = 4000;
  EXPECT_EQ(text_of(start), R"({"id":"r/1","nodes":[{"node":0,"host":"n1"}],"master_port":4000})");
  EXPECT_EQ(text_of(RoundName{"a", 2}), R"({"case":"a","round":2})");
}

TEST(JournalRecords, AHookIsWrittenAsEver) {
  RoundStart start;
  start.hook = "clean";
  start.command = {"rm", "x"};
  start.processes = "r/h";
  EXPECT_EQ(text_of(start), R"({"hook":"clean","command":["rm","x"],"processes":"r/h"})");
}

TEST(JournalRecords, EndsAreWrittenAsEver) {
  RoundEnd end;
  end.status = RoundStatus::timed_out;
  end.reason = "too long";
  EXPECT_EQ(text_of(end), R"({"status":"timed_out","reason":"too long","advice":""})");
  end.culprits = {3};
  EXPECT_EQ(text_of(end),
            R"({"status":"timed_out","reason":"too long","advice":"","culprits":[3]})");
  EXPECT_EQ(text_of(RunEnd{RunStatus::completed}), R"({"status":"completed"})");
  RankExit lost;
  lost.rank = 5;
  lost.ended_by = EndedBy::lost;
  EXPECT_EQ(text_of(lost), R"({"rank":5,"ended_by":"lost"})");
}

TEST(JournalRecords, ALineOfAnEarlierVersionIsRead) {
  const Json line = parse_json(
      R"({"event":"rank_exit","wall_ns":1794799617462068875,"mono_ns":1363930969884,)"
      R"("case":"null","round":1,"node":2,"host":"node2","rank":4,"local_rank":0,"code":0,)"
      R"("ended_by":"itself","log_bytes":4946,"dropped_bytes":0,"steps":20})",
      "line");
  EXPECT_EQ(round_of(line), (RoundName{"null", 1}));
  EXPECT_EQ(node_of(line), (NodeName{2, "node2"}));
  EXPECT_EQ(instant_of(line)->wall_ns, 1794799617462068875);
  const auto exit = fields_from_any<RankExit>(line);
  EXPECT_EQ(exit.rank, 4);
  EXPECT_EQ(exit.code, 0);
  EXPECT_EQ(exit.signal, std::nullopt);
  EXPECT_TRUE(exit.ended_by == EndedBy::itself);
  EXPECT_EQ(exit.log_bytes, 4946U);
  EXPECT_FALSE(exit.rests);
}

TEST(JournalRecords, AWordOfALaterVersionIsKept) {
  const auto end = fields_from_any<RoundEnd>({{"status", "evaporated"}});
  EXPECT_EQ(end.status.value, std::nullopt);
  EXPECT_EQ(end.status.text, "evaporated");
}

TEST(JournalRecords, WhatIsOfAnotherFormIsAsIfItWereNotThere) {
  const Json odd{{"status", 5},    {"reason", {1, 2}}, {"culprits", {1, "x", 2.5, 3}},
                 {"round", 1e300}, {"case", nullptr},  {"mono_ns", -1},
                 {"wall_ns", 5}};
  const auto end = fields_from_any<RoundEnd>(odd);
  EXPECT_EQ(end.status.text, "");
  EXPECT_EQ(end.reason, "");
  EXPECT_THAT(end.culprits, ElementsAre(1, 3));
  EXPECT_EQ(round_of(odd), RoundName{});
  EXPECT_FALSE(instant_of(odd));
  for (const Json& nothing : {Json(), Json("text"), Json::array({1})})
    EXPECT_THAT(fields_from_any<RoundStart>(nothing).nodes, IsEmpty()) << nothing;
}

}  // namespace
}  // namespace assay::store
