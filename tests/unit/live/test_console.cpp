#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "live/rank_console.h"
#include "live/run_watch.h"
#include "run_folder.h"

namespace assay::live {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RunFolder;

class ConsoleTest : public ::testing::Test {
 protected:
  void look(std::uint64_t bytes = 1ULL << 30) {
    if (!watch_.look()) console_ = Console(console_.generation() + 1);
    console_.look(watch_, bytes);
  }
  [[nodiscard]] std::vector<std::string> texts(const ConsoleQuery& query = {}) {
    std::vector<std::string> out;
    const Json page = console_.page(query);
    for (const Json& line : page["lines"]) out.push_back(line["text"]);
    return out;
  }

  RunFolder run_;
  RunWatch watch_{run_.path()};
  Console console_;
};

TEST_F(ConsoleTest, MergesRanksByTheTimesOfTheirPerfLogLines) {
  run_.append(RunFolder::log(0), "hello 0\n" + RunFolder::step(1, 0.5) + "after 1\n" +
                                     RunFolder::step(3, 0.4) + "after 3\n");
  run_.append(RunFolder::log(1), RunFolder::step(2, 0.5) + "after 2\n");
  look();
  EXPECT_THAT(texts({.show = Lines::text}),
              ElementsAre("hello 0", "after 1", "after 2", "after 3"));
  EXPECT_EQ(console_.page({})["total"], 7);
  EXPECT_EQ(console_.page({})["lines"][0]["n"], 1);
}

TEST_F(ConsoleTest, OneRankHasNumbersOfItsOwn) {
  run_.append(RunFolder::log(0), "a\nb\n");
  run_.append(RunFolder::log(1), "c\nd\n");
  look();
  EXPECT_THAT(texts({.rank = 1}), ElementsAre("c", "d"));
  const Json page = console_.page({.rank = 1, .from = 2});
  EXPECT_EQ(page["lines"][0]["n"], 2);
  EXPECT_EQ(page["lines"][0]["rank"], 1);
  EXPECT_EQ(page["lines"][0]["node"], "n0");
  EXPECT_EQ(page["ranks"], Json::array({0, 1}));
  EXPECT_TRUE(texts({.rank = 7}).empty());
}

TEST_F(ConsoleTest, AFollowerGetsEveryLineOnce) {
  run_.hold();
  std::int64_t next = 1;
  std::vector<std::string> got;
  for (int i = 0; i < 50; ++i) {
    run_.append(RunFolder::log(i % 3), fmt::format("line {}\npart of", i));
    look();
    run_.append(RunFolder::log(i % 3), " a line\n");
    const Json page = console_.page({.from = next});
    next = page["next"];
    for (const Json& line : page["lines"]) got.push_back(line["text"]);
  }
  look();
  const Json rest = console_.page({.from = next});
  for (const Json& line : rest["lines"]) got.push_back(line["text"]);
  ASSERT_EQ(got.size(), 100U);
  EXPECT_EQ(std::ranges::count(got, "part of a line"), 50);
}

TEST_F(ConsoleTest, TheBeginningOfALineIsShownWhenNobodyWritesAnyMore) {
  run_.hold();
  run_.append(RunFolder::log(0), "whole\nbroken off");
  look();
  EXPECT_THAT(texts(), ElementsAre("whole"));
  run_.release();
  look();
  EXPECT_THAT(texts(), ElementsAre("whole", "broken off"));
  look();
  EXPECT_EQ(console_.page({})["total"], 2);
}

TEST_F(ConsoleTest, PagesFromAnyPlaceAndFromTheEnd) {
  std::string text;
  for (int i = 1; i <= 1000; ++i) text += fmt::format("{}\n", i);
  run_.append(RunFolder::log(0), text);
  look();
  EXPECT_THAT(texts({.from = 517, .lines = 3}), ElementsAre("517", "518", "519"));
  EXPECT_THAT(texts({.from = -2, .lines = 10}), ElementsAre("999", "1000"));
  EXPECT_THAT(texts({.from = INT64_MIN, .lines = 1}), ElementsAre("1"));
  EXPECT_TRUE(texts({.from = INT64_MAX}).empty());
  EXPECT_EQ(texts({.lines = 1'000'000}).size(), 1000U);
  EXPECT_EQ(console_.page({.from = 998})["next"], 1001);
}

TEST_F(ConsoleTest, SearchesWhateverTheCaseOfLetters) {
  run_.append(RunFolder::log(0), "Alpha\nbeta\nALPHABET\n");
  look();
  const Json page = console_.page({.search = "alpha"});
  ASSERT_EQ(page["lines"].size(), 2U);
  EXPECT_EQ(page["lines"][1]["n"], 3);
  EXPECT_EQ(page["next"], 4);
}

TEST_F(ConsoleTest, JumpsToTheFirstError) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "fine\n";
  run_.append(RunFolder::log(0), text + "RuntimeError: broken\nError: again\n");
  look();
  const Json page = console_.page({.first_error = true});
  EXPECT_EQ(page["first_error"], 101);
  EXPECT_EQ(page["lines"][0]["n"], 96);
  EXPECT_THAT(texts({.show = Lines::errors}), ElementsAre("RuntimeError: broken", "Error: again"));
}

TEST_F(ConsoleTest, AMillionLinesStayFast) {
  std::string text;
  for (int i = 0; i < 500'000; ++i) {
    text +=
        fmt::format("step {} loss 0.123 images/s 4567 some more words to be like a real line\n", i);
    if (i % 1000 == 0) text += RunFolder::step(i / 100.0, 0.5);
  }
  run_.append(RunFolder::log(0), text);
  run_.append(RunFolder::log(1), text);
  look();
  ASSERT_EQ(console_.total(), 1'001'000U);
  // Generous: unoptimized, on a machine that is busy with other tests.
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(texts({.from = 10'000 * i + 1, .lines = 100}).size(), 100U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(ConsoleTest, WorkIsDoneInPiecesWithoutLosingTheOrder) {
  std::string zero;
  std::string one;
  for (int i = 0; i < 20'000; ++i) {
    zero += RunFolder::step(i, 0.5);
    one += RunFolder::step(i + 0.5, 0.5);
  }
  run_.append(RunFolder::log(0), zero);
  run_.append(RunFolder::log(1), one);
  int looks = 0;
  do {
    look(300'000);
    ASSERT_LT(++looks, 1000);
  } while (console_.page({})["indexing"]);
  EXPECT_GT(looks, 3);
  ASSERT_EQ(console_.total(), 40'000U);
  for (std::int64_t from = 1; from < 40'000; from += 997) {
    const Json lines = console_.page({.from = from, .lines = 2})["lines"];
    EXPECT_NE(lines[0]["rank"], lines[1]["rank"]);
    EXPECT_LE(lines[0]["at"].get<std::string>(), lines[1]["at"].get<std::string>());
  }
}

TEST_F(ConsoleTest, ALineWithoutAnEndComesInPieces) {
  run_.append(RunFolder::log(0), std::string(300'000, 'x') + "\nend\n");
  look();
  const Json page = console_.page({});
  ASSERT_EQ(page["total"], 6);
  EXPECT_EQ(page["lines"][0]["text"].get<std::string>().size(), Console::kMaxText);
  EXPECT_GT(page["lines"][0]["cut"], 0);
  EXPECT_EQ(page["lines"][5]["text"], "end");
}

TEST_F(ConsoleTest, GarbageIsShownHarmlessly) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  run_.append(RunFolder::log(0), all + "\n" + all + all);
  look();
  EXPECT_GT(console_.total(), 0U);
  for (const std::string& text : texts()) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\0'), std::string::npos);
  }
}

TEST_F(ConsoleTest, ALogThatWasCutBeginsAnewWithAnotherGeneration) {
  run_.hold();
  run_.append(RunFolder::log(0), "one\ntwo\nthree\n");
  look();
  const std::uint64_t before = console_.generation();
  std::filesystem::resize_file(run_.file(RunFolder::log(0)), 4);
  look();
  EXPECT_THAT(texts(), ElementsAre("one"));
  EXPECT_NE(console_.generation(), before);
}

TEST_F(ConsoleTest, ARotatedLogKeepsItsNumbers) {
  run_.hold();
  const auto log = run_.file(RunFolder::log(0));
  run_.append(RunFolder::log(0), "1\n2\n");
  look();
  std::filesystem::rename(log, log.string() + ".head");
  run_.append(RunFolder::log(0), "3\n");
  look();
  std::filesystem::rename(log, log.string() + ".1");
  run_.append(RunFolder::log(0), "4\n");
  look();
  EXPECT_THAT(texts(), ElementsAre("1", "2", "3", "4"));
  // What was in the middle is dropped.
  std::filesystem::rename(log, log.string() + ".1");
  run_.append(RunFolder::log(0), "5\n");
  look();
  const Json lines = console_.page({})["lines"];
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_TRUE(lines[2].value("gone", false));
  EXPECT_EQ(lines[1]["text"], "2");
  EXPECT_EQ(lines[3]["text"], "4");
  EXPECT_EQ(lines[4]["text"], "5");
}

TEST_F(ConsoleTest, WhatIsNoRegularFileIsNamedAndNeverWaitedFor) {
  run_.append(RunFolder::log(0), "fine\n");
  const auto folder = run_.file(RunFolder::log(0)).parent_path();
  ASSERT_EQ(::mkfifo((folder / "rank1.out.log").c_str(), 0600), 0);
  std::filesystem::create_symlink("/etc/passwd", folder / "rank2.out.log");
  std::filesystem::create_directory_symlink("/etc", run_.path() / "c/round1/x_noderank7");
  std::filesystem::create_directory(folder / "rank3.out.log");
  look();
  EXPECT_THAT(texts(), ElementsAre("fine"));
  EXPECT_EQ(console_.page({})["problems"].size(), 3U);
}

TEST_F(ConsoleTest, AJournalThatLiesNamesNoPlaceOutsideOfTheRun) {
  run_.journal({{"event", "round_start"}, {"case", "../.."}, {"round", 1}});
  run_.journal({{"event", "round_start"}, {"case", ".."}, {"round", 1}});
  run_.journal({{"event", "round_start"}, {"case", 5}, {"round", "x"}});
  run_.journal({{"event", "rank_exit"}, {"code", "x"}, {"rank", nullptr}});
  run_.append("journal.jsonl", "[1,2]\n\"x\"\n{\"event\":\n\xff\xfe\n");
  run_.append(RunFolder::log(0), "fine\n");
  look();
  EXPECT_THAT(texts(), ElementsAre("fine"));
}

TEST_F(ConsoleTest, TheTextToBeKeptHasAllLines) {
  run_.append(RunFolder::log(0), "a\nb\n");
  run_.append(RunFolder::log(1), "c\n");
  look();
  std::int64_t from = 1;
  EXPECT_THAT(console_.text(std::nullopt, from), HasSubstr("[1] c\n"));
  EXPECT_EQ(console_.text(std::nullopt, from), "");
  from = 1;
  EXPECT_EQ(console_.text(0, from), "a\nb\n");
}

TEST_F(ConsoleTest, AnEmptyFolderHasNoLines) {
  const assay::testing::TemporaryFolder nothing;
  RunWatch watch(nothing.path());
  Console console;
  (void)watch.look();
  console.look(watch, 1000);
  EXPECT_EQ(console.page({.search = "x", .first_error = true})["total"], 0);
}

}  // namespace
}  // namespace assay::live
