#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/skipped_note.h"
#include "live/live_run.h"
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

/// Reads as who follows: with the place of the last answer.
class Follower {
 public:
  explicit Follower(const std::filesystem::path& run) : run_(run) {}
  void read() {
    for (Json page;;) {
      page = live_->log(query_);
      for (const Json& line : page["lines"]) got_[line["rank"].get<int>()].push_back(line["text"]);
      query_.after = parse_log_place(page["place"].get<std::string>());
      again_ = again_ || page.contains("again");
      if (page["next"] > page["total"]) return;
    }
  }
  void look_again() { live_ = std::make_unique<LiveRun>(run_); }
  [[nodiscard]] const std::vector<std::string>& of(int rank) { return got_[rank]; }
  [[nodiscard]] bool again() const { return again_; }

 private:
  std::filesystem::path run_;
  std::unique_ptr<LiveRun> live_ = std::make_unique<LiveRun>(run_);
  ConsoleQuery query_{.lines = 3};
  std::map<int, std::vector<std::string>> got_;
  bool again_ = false;
};

TEST_F(ConsoleTest, WhoFollowsGetsEachLineOnceWhenTheEvidenceReplacesWhatWasSent) {
  RunFolder run(/*shares_files=*/false);
  run.hold();
  Follower follower(run.path());
  std::vector<std::string> lines;
  std::vector<std::string> whole(2);
  for (int i = 1; i <= 6; ++i) {
    lines.push_back(fmt::format("tick {}", i));
    for (int rank = 0; rank < 2; ++rank) {
      whole[rank] += lines.back() + "\n";
      if (rank == 1 || i <= 4)
        run.append("live-logs/" + RunFolder::log(rank, rank), lines.back() + "\n");
    }
    follower.look_again();  // the order of what has come is another one each time
    follower.read();
  }
  ASSERT_EQ(follower.of(0).size(), 4U);
  ASSERT_EQ(follower.of(1), lines);
  run.append(RunFolder::log(1, 1), whole[1]);  // the nodes' evidence comes one by one
  follower.look_again();
  follower.read();
  run.append(RunFolder::log(0, 0), whole[0]);
  run.journal({{"event", "round_end"}, {"case", "c"}, {"round", 1}});
  std::filesystem::remove_all(run.file("live-logs"));
  run.release();
  follower.look_again();
  follower.read();
  EXPECT_EQ(follower.of(0), lines);
  EXPECT_EQ(follower.of(1), lines);
  EXPECT_FALSE(follower.again());
}

TEST_F(ConsoleTest, WhatWasSkippedWhileItRanDoesNotMoveThePlaceInTheEvidence) {
  RunFolder run(/*shares_files=*/false);
  run.hold();
  Follower follower(run.path());
  run.append("live-logs/" + RunFolder::log(0), "a\nb\n" + skipped_note(4) + "\ne\nf\n");
  follower.read();
  run.append(RunFolder::log(0), "a\nb\nc\nd\ne\nf\ng\n");
  run.release();
  follower.look_again();
  follower.read();
  EXPECT_THAT(follower.of(0), ElementsAre("a", "b", skipped_note(4), "e", "f", "g"));
}

TEST_F(ConsoleTest, APlaceOfAnotherRunIsItsBeginning) {
  run_.append(RunFolder::log(0), "a\nb\n");
  LiveRun live(run_.path());
  auto place = parse_log_place(live.log(ConsoleQuery{})["place"].get<std::string>());
  ASSERT_TRUE(place);
  EXPECT_TRUE(live.log({.after = place})["lines"].empty());
  place->run = "00000000";
  EXPECT_EQ(live.log({.after = place})["lines"].size(), 2U);
}

TEST_F(ConsoleTest, APlaceThatDoesNotSayAllIsGoodForTheSameMerging) {
  run_.append(RunFolder::log(0), "a\nb\n");
  LiveRun live(run_.path());
  auto place = parse_log_place(live.log({.lines = 1})["place"].get<std::string>());
  ASSERT_TRUE(place);
  place->whole = false;
  place->ends.clear();
  const Json page = live.log({.after = place});
  ASSERT_EQ(page["lines"].size(), 1U);
  EXPECT_FALSE(page.contains("again"));
  ++place->generation;
  EXPECT_TRUE(live.log({.after = place}).contains("again"));
  EXPECT_FALSE(parse_log_place("x"));
  EXPECT_FALSE(parse_log_place("0.1.1_a"));
  EXPECT_FALSE(parse_log_place("0.1.1\r\n"));
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
  TextPlace from;
  EXPECT_THAT(console_.text(std::nullopt, from), HasSubstr("[1] c\n"));
  EXPECT_EQ(console_.text(std::nullopt, from), "");
  from = {};
  EXPECT_EQ(console_.text(0, from), "a\nb\n");
}

// What text() gives in so many bytes at a time.
std::string all_text(Console& console, std::optional<int> rank, std::size_t most) {
  std::string out;
  TextPlace from;
  for (int parts = 0; parts < 1000; ++parts) {
    // As another request would come back.
    from = *parse_text_place(text_of(from));
    const std::string more = console.text(rank, from, most);
    if (more.empty()) return out;
    out += more;
  }
  return out;
}

TEST_F(ConsoleTest, ALongLineIsWholeInTheTextToBeKept) {
  std::string chinese;  // a character of three bytes does not end where a piece does
  while (chinese.size() < 5 * LineIndex::kMaxLine) chinese += "训练";
  const std::string plain(3 * LineIndex::kMaxLine, 'x');
  const std::string log = "{\"a\": 1}\n" + chinese + "\nbetween\n" + plain + "\nlast\n";
  run_.append(RunFolder::log(0), log);
  look();
  EXPECT_GT(texts({.rank = 0}).size(), 5U) << "a page has it in pieces";
  for (const std::size_t most : {std::size_t{1} << 16, 200'000UL, Console::kMaxAnswer})
    EXPECT_EQ(all_text(console_, 0, most), log) << most;
}

TEST_F(ConsoleTest, ALongLineStaysWholeBesideThoseOfOtherRanks) {
  run_.hold();
  const std::string half(2 * LineIndex::kMaxLine, 'x');
  for (int i = 0; i < 2; ++i) {  // what comes meanwhile of the other one lies between its pieces
    run_.append(RunFolder::log(0), half);
    run_.append(RunFolder::log(1), fmt::format("other {}\n", i));
    look();
  }
  run_.append(RunFolder::log(0), "end\nnext\n");
  look();
  const std::string text = all_text(console_, std::nullopt, Console::kMaxAnswer);
  EXPECT_THAT(text, HasSubstr("[0] " + half + half + "end\n"));
  EXPECT_THAT(text, HasSubstr("[1] other 0\n"));
  EXPECT_THAT(text, HasSubstr("[1] other 1\n"));
  EXPECT_THAT(text, HasSubstr("[0] next\n"));
  EXPECT_EQ(text.size(), 2 * half.size() + 8 + 2 * 12 + 9);
}

TEST_F(ConsoleTest, ALineThatIsLongerThanAPartGoesOnInTheNext) {
  const std::string line(10 * LineIndex::kMaxLine, 'x');
  run_.append(RunFolder::log(0), "before\n" + line + "\n");
  look();
  TextPlace from;
  EXPECT_EQ(console_.text(0, from, 300'000), "before\n");
  EXPECT_EQ(text_of(from), "2");
  const std::string part = console_.text(0, from, 300'000);
  EXPECT_LE(part.size(), 300'000U);
  EXPECT_EQ(part.find('\n'), std::string::npos);
  EXPECT_EQ(text_of(from), "2.4");
  EXPECT_FALSE(parse_text_place("2.x"));
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
