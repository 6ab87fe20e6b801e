#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "store/run_dir.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

plan::Plan small_plan() {
  plan::Plan plan;
  plan.run_id = "run20261115T101500Z-3f2a";
  plan.suite = "s";
  return plan;
}

TEST(Journal, KeepsEventsInOrderWithBothClocks) {
  const testing::TemporaryFolder folder;
  Journal journal(folder.path() / "j");
  journal.append(JournalEvent::run_start, {{"run", "x"}});
  journal.append(JournalEvent::rank_exit, {{"rank", 3}, {"mono_ns", 5}, {"wall_ns", 6}});
  const std::vector<Json> events = Journal::read(folder.path() / "j");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_GT(events[0]["wall_ns"], 0);
  EXPECT_EQ(events[1]["mono_ns"], 5);
  EXPECT_EQ(events[1]["rank"], 3);
}

TEST(Journal, EveryEventIsDocumented) {
  const std::string page = read_file(std::string(ASSAY_SOURCE_DIR) + "/docs/run-directory.md");
  for (const std::string& name : enum_texts<JournalEvent>())
    EXPECT_THAT(page, ::testing::HasSubstr("`" + name + "`")) << "not in the table of the journal";
}

TEST(Journal, AnEventOfAnotherVersionIsNone) {
  EXPECT_EQ(event_of({{"event", "round_end"}}), JournalEvent::round_end);
  for (const Json& line : {Json{{"event", "of a later version"}}, Json{{"event", 3}},
                           Json{{"x", 1}}, Json::array(), Json("round_end"), Json()})
    EXPECT_EQ(event_of(line), std::nullopt) << line;
}

TEST(Journal, ATornLastLineIsSkippedAndDoesNotSwallowTheNext) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "j";
  Journal(path).append(JournalEvent::run_start, Json::object());
  std::ofstream(path, std::ios::app) << R"({"event": "tor)";
  Journal(path).append(JournalEvent::run_end, Json::object());
  const JournalReading reading = Journal::read_all(path);
  ASSERT_EQ(reading.events.size(), 2u);
  EXPECT_EQ(event_of(reading.events[1]), JournalEvent::run_end);
  ASSERT_EQ(reading.unreadable.size(), 1u);
  EXPECT_EQ(reading.unreadable[0].line, 2u);
}

TEST(Journal, ALineIsTornWhereTheFileEndsOrAResumedRunWentOn) {
  const testing::TemporaryFolder folder;
  const auto torn = [&](const std::string& text) {
    std::vector<bool> out;
    for (const UnreadableLine& line : Journal::read_all(folder.write("j", text)).unreadable)
      out.push_back(line.torn);
    return out;
  };
  using Torn = std::vector<bool>;
  EXPECT_EQ(torn("{\"event\":\"a\"}\n{\"eve"), Torn{true});
  EXPECT_EQ(torn("{\"event\":\"a\"}\n{\"eve\n"), Torn{false}) << "somebody ended the line";
  EXPECT_EQ(torn("{\"eve\n{\"event\":\"run_resume\"}\n"), Torn{true});
  EXPECT_EQ(torn("{\"eve\n{\"event\":\"round_end\"}\n"), Torn{false});
  EXPECT_EQ(torn("x\n{\"eve\n{\"event\":\"run_resume\"}\n"), (Torn{false, true}));
}

TEST(RunDir, IsFoundAgainByItsFolderByLatestAndByAFileInside) {
  const testing::TemporaryFolder folder;
  const RunDir created = RunDir::create(folder.path(), small_plan());
  for (const auto& path : {created.path(), folder.path() / "latest", created.path() / "plan.json"})
    EXPECT_EQ(RunDir::open(path).plan().run_id, "run20261115T101500Z-3f2a");
}

TEST(RunDir, RefusesAFolderThatIsNoRun) {
  const testing::TemporaryFolder folder;
  EXPECT_THROW((void)RunDir::open(folder.path()), Error);
  EXPECT_THROW((void)RunDir::open(folder.path() / "nothing"), Error);
}

TEST(RunDir, ATruncatedPlanIsAConfigurationErrorThatNamesTheFile) {
  const testing::TemporaryFolder folder;
  const RunDir run = RunDir::create(folder.path(), small_plan());
  std::filesystem::resize_file(run.path() / "plan.json", 20);
  try {
    (void)RunDir::open(run.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_NE(error.where().find("plan.json"), std::string::npos);
  }
}

TEST(RunDir, PutsEvidenceWhereFlagPerfWould) {
  const testing::TemporaryFolder folder;
  const RunDir run = RunDir::create(folder.path(), small_plan());
  EXPECT_EQ(run.node_dir("bert:pytorch:A100:1:8:1", 2, "node1", 0),
            run.path() / "bert:pytorch:A100:1:8:1/round2/node1_noderank0");
}

TEST(RunLock, IsNotHeldByWhoOnlyAsks) {
  const testing::TemporaryFolder folder;
  { const RunLock lock(folder.path()); }
  std::vector<std::jthread> asking;
  std::atomic<int> held = 0;
  for (int i = 0; i < 4; ++i)
    asking.emplace_back([&] {
      for (int turn = 0; turn < 500; ++turn) held += RunLock::held(folder.path()) ? 1 : 0;
    });
  asking.clear();
  EXPECT_EQ(held, 0);
}

TEST(RunLock, IsExclusiveAndEndsWithItsHolder) {
  const testing::TemporaryFolder folder;
  {
    const RunLock lock(folder.path());
    EXPECT_TRUE(RunLock::held(folder.path()));
    EXPECT_THROW(RunLock second(folder.path()), Error);
  }
  EXPECT_FALSE(RunLock::held(folder.path()));
}

TEST(RankLogs, ListsRotatedPartsOldestFirst) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"rank1.out.log", "rank1.out.log.head", "rank1.out.log.1"})
    std::ofstream(folder.path() / name) << "x";
  const auto logs = rank_logs(folder.path(), 1);
  ASSERT_EQ(logs.size(), 3u);
  EXPECT_EQ(logs[0].filename(), "rank1.out.log.head");
  EXPECT_EQ(logs[2].filename(), "rank1.out.log");
}

}  // namespace
}  // namespace assay::store
