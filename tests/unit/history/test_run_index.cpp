#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "error_of.h"
#include "history/run_filter.h"
#include "history/trends.h"
#include "made_runs.h"
#include "report/json_report.h"
#include "store/run_dir.h"
#include "temporary_folder.h"

namespace assay::history {
namespace {

namespace fs = std::filesystem;
using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kOldRun = fs::path(ASSAY_SOURCE_DIR) / "tests/fixtures/run-0.1";

class RunIndexTest : public assay::testing::Test {
 protected:
  [[nodiscard]] const fs::path& results() const { return folder_.path(); }
  [[nodiscard]] fs::path file() const { return results() / RunIndex::kFile; }

  static IndexOptions quick() {
    IndexOptions options;
    options.wait = std::chrono::milliseconds(100);
    return options;
  }
  std::vector<FoundRun> runs(const RunFilter& filter = {}) {
    return ask_index(results(), quick(), [&](RunIndex& index) {
      messages_ = index.messages();
      read_ = index.runs_read();
      return find_runs(index, filter);
    });
  }
  std::vector<std::string> folders(const RunFilter& filter = {}) {
    std::vector<std::string> out;
    for (const FoundRun& run : runs(filter)) out.push_back(run.folder);
    return out;
  }
  MadeRun made(const std::string& id, double speed = 100) {
    return {id, "2026-01-0" + std::to_string(++day_) + "T00:00:00Z", {speed}};
  }

  assay::testing::TemporaryFolder folder_;
  std::vector<std::string> messages_;
  std::size_t read_ = 0;
  int day_ = 0;
};

TEST_F(RunIndexTest, ReadsARunOnceAndAgainWhenItsResultIsNew) {
  MadeRun run = made("a");
  write_run(results(), run);
  EXPECT_EQ(runs().at(0).validity, judge::Validity::valid);
  EXPECT_EQ(read_, 1);
  EXPECT_EQ(runs().size(), 1);
  EXPECT_EQ(read_, 0);
  run.validity = judge::Validity::invalid;
  write_run(results(), run);
  EXPECT_EQ(runs().at(0).validity, judge::Validity::invalid);
  EXPECT_EQ(read_, 1);
}

TEST_F(RunIndexTest, AResultThatIsOverwrittenInItsPlaceIsNew) {
  const fs::path run = write_run(results(), made("a"));
  EXPECT_EQ(runs().at(0).state, RunState::ended);
  std::ofstream(run / "result.json") << "no more";
  EXPECT_EQ(runs().at(0).state, RunState::unreadable);
}

TEST_F(RunIndexTest, RunsThatAreGoneAreForgotten) {
  write_run(results(), made("a"));
  write_run(results(), made("b"));
  EXPECT_THAT(folders(), ElementsAre("a", "b"));
  fs::remove_all(results() / "a");
  EXPECT_THAT(folders(), ElementsAre("b"));
}

TEST_F(RunIndexTest, FoldersThatAreNoRunsLinksAndHiddenOnesAreNotRuns) {
  write_run(results(), made("a"));
  write_run(results(), made("b"), ".hidden");
  fs::create_directories(results() / "notes");
  fs::create_directory_symlink("a", results() / "latest");
  EXPECT_THAT(folders(), ElementsAre("a"));
}

TEST_F(RunIndexTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_THAT(error_of([&] { return RunIndex::open(results() / "no"); }), HasSubstr("--results"));
}

TEST_F(RunIndexTest, AnIndexThatIsNoDatabaseIsMadeAnewAndSaysSo) {
  write_run(results(), made("a"));
  folder_.write(std::string(RunIndex::kFile), std::string(9000, 'x'));
  EXPECT_THAT(folders(), ElementsAre("a"));
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("damaged")));
  EXPECT_THAT(folders(), ElementsAre("a"));
  EXPECT_THAT(messages_, IsEmpty());
}

TEST_F(RunIndexTest, ALinkInPlaceOfTheIndexIsLeftAloneWithWhatItLeadsTo) {
  write_run(results(), daily_runs(1, 1).front());
  const fs::path precious = results() / "precious";
  write_file_atomic(precious, "not ours");
  fs::create_symlink(precious, file());
  EXPECT_EQ(runs().size(), 1);
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("not a regular file and is left alone")));
  index_run(results() / "anything", true);
  EXPECT_EQ(read_file(precious), "not ours");
}

TEST_F(RunIndexTest, AFifoInPlaceOfTheIndexHoldsNobodyUp) {
  write_run(results(), daily_runs(1, 1).front());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(runs().size(), 1);
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("not a regular file and is left alone")));
}

TEST_F(RunIndexTest, AnIndexThatWasCutIsMadeAnew) {
  for (const MadeRun& run : daily_runs(60, 60)) write_run(results(), run);
  EXPECT_EQ(runs().size(), 60);
  fs::resize_file(file(), fs::file_size(file()) / 2);
  EXPECT_EQ(runs().size(), 60);
  fs::resize_file(file(), 0);
  EXPECT_EQ(runs().size(), 60);
}

TEST_F(RunIndexTest, DamageThatOnlyTheQueryMeetsIsRepaired) {
  for (const MadeRun& run : daily_runs(60, 60)) write_run(results(), run);
  EXPECT_EQ(runs().size(), 60);
  const auto bytes = fs::file_size(file());
  // Everything but the first pages, which open() looks at.
  for (std::uintmax_t at = bytes / 2; at + 4096 <= bytes; at += 4096) {
    std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(at));
    out << std::string(4096, '\xff');
  }
  const History found =
      ask_index(results(), quick(), [&](RunIndex& index) { return read_history(index, {}); });
  ASSERT_EQ(found.trends.size(), 1);
  EXPECT_EQ(found.trends[0].points.size(), 60);
}

TEST_F(RunIndexTest, AnIndexOfANewerVersionIsLeftAlone) {
  write_run(results(), made("a"));
  {
    database::Options options;
    options.journal = database::Options::Journal::rollback;
    database::Database newer(file(), options);
    newer.execute("CREATE TABLE other (x)");
    newer.set_user_version(RunIndex::kVersion + 1);
  }
  const std::string before = read_file(file());
  EXPECT_THAT(folders(), ElementsAre("a"));
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("newer version")));
  index_run(results() / "a", true);
  EXPECT_EQ(read_file(file()), before);
}

TEST_F(RunIndexTest, ALockedIndexIsWaitedForAndThenAnsweredFromMemory) {
  write_run(results(), made("a"));
  EXPECT_EQ(runs().size(), 1);
  write_run(results(), made("b"));
  database::Options options;
  options.journal = database::Options::Journal::rollback;
  database::Database other(file(), options);
  other.execute("BEGIN EXCLUSIVE");
  EXPECT_THAT(folders(), ElementsAre("a", "b"));
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("another process holds")));
  other.execute("COMMIT");
  EXPECT_THAT(folders(), ElementsAre("a", "b"));
  EXPECT_THAT(messages_, IsEmpty());
}

TEST_F(RunIndexTest, WhereNothingCanBeWrittenRunsAreReadForTheCommand) {
  write_run(results(), made("a"));
  // In the way of the index, also for those who may write everywhere.
  fs::create_directories(file());
  EXPECT_THAT(folders(), ElementsAre("a"));
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("cannot be written")));
  index_run(results() / "a", true);
}

TEST_F(RunIndexTest, AReadOnlyFolderWithAnOldIndexIsAnsweredInFull) {
  write_run(results(), made("a"));
  EXPECT_EQ(runs().size(), 1);
  write_run(results(), made("b"));
  fs::permissions(file(), fs::perms(0444));
  fs::permissions(results(), fs::perms(0555));
  // Root may write everywhere, so somebody else asks.
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
  const std::vector<std::string> found = folders();
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  fs::permissions(results(), fs::perms::owner_all);
  EXPECT_THAT(found, ElementsAre("a", "b"));
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("cannot be written")));
}

TEST_F(RunIndexTest, RunsThatEndAtOnceAndAReaderBesideThemAllSucceed) {
  const std::vector<MadeRun> made_runs = daily_runs(48, 48);
  std::vector<std::thread> threads;
  for (std::size_t writer = 0; writer < 4; ++writer)
    threads.emplace_back([&, writer] {
      for (std::size_t i = writer; i < made_runs.size(); i += 4)
        index_run(write_run(results(), made_runs[i]), true);
    });
  for (int reader = 0; reader < 2; ++reader)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i)
        (void)ask_index(results(), {}, [](RunIndex& index) { return find_runs(index, {}).size(); });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs().size(), made_runs.size());
  EXPECT_THAT(messages_, IsEmpty());
  database::Database check(file(), {.journal = database::Options::Journal::rollback});
  database::Statement state = check.prepare("PRAGMA integrity_check");
  ASSERT_TRUE(state.step());
  EXPECT_EQ(state.text(0), "ok");
}

TEST_F(RunIndexTest, TheEndOfARunIsInTheIndexBeforeAnyQuery) {
  index_run(write_run(results(), made("a")), true);
  EXPECT_EQ(runs().size(), 1);
  EXPECT_EQ(read_, 0);
}

TEST_F(RunIndexTest, AReportBeginsNoIndex) {
  index_run(write_run(results(), made("a")), false);
  EXPECT_FALSE(fs::exists(file()));
}

// What result.json may be, and what is said about it.
struct BadResult {
  const char* name;
  std::string content;
  const char* said;
};
class BadResultTest : public RunIndexTest, public ::testing::WithParamInterface<BadResult> {};

TEST_P(BadResultTest, IsListedWithItsProblemAndDoesNotHideTheOthers) {
  write_run(results(), made("good"));
  const fs::path bad = write_run(results(), made("bad"));
  write_file_atomic(bad / "result.json", GetParam().content, false);
  const std::vector<FoundRun> found = runs();
  ASSERT_EQ(found.size(), 2);
  const FoundRun& run = found[0].folder == "bad" ? found[0] : found[1];
  EXPECT_EQ(run.state, RunState::unreadable);
  EXPECT_THAT(run.problem, HasSubstr(GetParam().said));
  EXPECT_THAT(run.problem, HasSubstr("result.json"));
  EXPECT_THAT(remarks_about(found), ElementsAre(HasSubstr("cannot be read")));
}

const std::string kWhole = report::render_json(result_of({"bad", "2026-01-01T00:00:00Z"}));
INSTANTIATE_TEST_SUITE_P(
    Results, BadResultTest,
    ::testing::Values(
        BadResult{"Empty", "", "not valid JSON"},
        BadResult{"Cut", kWhole.substr(0, kWhole.size() / 2), "not valid JSON"},
        BadResult{"Foreign", R"({"benchmarks": [], "context": {}})", "not the result of a run"},
        BadResult{"Newer", R"({"schema_version": 9, "run_id": "x", "cases": []})", "schema 9"},
        BadResult{"Binary", std::string("\0\x01\xff\xfe{", 5), "not valid JSON"},
        BadResult{"Deep", "{\"system\": " + std::string(100'000, '['), "fewer levels"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(RunIndexTest, AResultOfAnAbsurdSizeIsNotRead) {
  const fs::path run = write_run(results(), made("a"));
  fs::resize_file(run / "result.json", kMaxResultBytes + 1);
  EXPECT_THAT(runs().at(0).problem, HasSubstr("larger than 512 MiB"));
}

TEST_F(RunIndexTest, AResultThatIsALinkOrAFolderIsNotRead) {
  const fs::path run = write_run(results(), made("a"));
  fs::remove(run / "result.json");
  fs::create_symlink("/etc/passwd", run / "result.json");
  EXPECT_THAT(runs().at(0).problem, HasSubstr("not a plain file"));
  fs::remove(run / "result.json");
  fs::create_directories(run / "result.json");
  EXPECT_THAT(runs().at(0).problem, HasSubstr("not a plain file"));
}

TEST_F(RunIndexTest, LabelsThatAreAFifoOrWithoutAnEndAreNotWaitedFor) {
  const fs::path run = write_run(results(), made("a"));
  ASSERT_EQ(::mkfifo((run / "labels.json").c_str(), 0600), 0);
  EXPECT_THAT(runs().at(0).problem, HasSubstr("labels.json: not a regular file"));
  fs::remove(run / "labels.json");
  fs::create_symlink("/dev/zero", run / "labels.json");
  EXPECT_THAT(runs().at(0).problem, HasSubstr("labels.json: not a regular file"));
}

TEST_F(RunIndexTest, ARunWithoutAResultIsListedAndSoIsOneThatGoesOn) {
  fs::copy(kOldRun / "run", results() / "old", fs::copy_options::recursive);
  EXPECT_EQ(runs().at(0).state, RunState::no_result);
  EXPECT_EQ(runs().at(0).run_id, "run20261116T032657Z-8c3c");
  EXPECT_THAT(remarks_about(runs()), ElementsAre(HasSubstr("assay report")));
  {
    const store::RunLock lock(results() / "old");
    fs::create_directories(results() / "old/begun");  // as a run that goes on does
    EXPECT_EQ(runs().at(0).state, RunState::running);
  }
  EXPECT_EQ(runs().at(0).state, RunState::no_result);
}

TEST_F(RunIndexTest, ARunOfTheFirstVersionHasItsNumbers) {
  fs::copy(kOldRun / "run", results() / "old", fs::copy_options::recursive);
  fs::copy(kOldRun / "result.json", results() / "old");
  TrendOptions options;
  options.invalid_too = true;
  const History found =
      ask_index(results(), quick(), [&](RunIndex& index) { return read_history(index, options); });
  ASSERT_EQ(found.trends.size(), 2);
  EXPECT_EQ(found.trends[0].case_name, "null:native:M1:1:2");
  EXPECT_DOUBLE_EQ(found.trends[0].points.at(0).value, 6274.628283667094);
}

TEST_F(RunIndexTest, ACutRunIsListedWhateverIsLeftOfIt) {
  const fs::path run = write_run(results(), made("a"));
  fs::remove(run / "plan.json");
  EXPECT_EQ(runs().at(0).state, RunState::ended);
  fs::remove(run / "result.json");
  folder_.write("a/journal.jsonl", "{\"event\": \"run_st");
  EXPECT_EQ(runs().at(0).state, RunState::unreadable);
}

TEST_F(RunIndexTest, ACopiedRunCountsOnce) {
  const MadeRun run = made("a");
  write_run(results(), run);
  write_run(results(), run, "a-copy");
  write_run(results(), run, "0-copy");
  const std::vector<FoundRun> found = runs();
  for (const FoundRun& one : found)
    EXPECT_EQ(one.copy_of, one.folder == "a" ? "" : "a") << one.folder;
  const History history =
      ask_index(results(), quick(), [&](RunIndex& index) { return read_history(index, {}); });
  EXPECT_EQ(history.trends.at(0).points.size(), 1);
  fs::remove_all(results() / "a");
  EXPECT_EQ(runs().at(0).copy_of, "");
  EXPECT_EQ(runs().at(1).copy_of, "0-copy");
}

TEST_F(RunIndexTest, TwoRunsWithOneIdBothCountAndAreSaid) {
  write_run(results(), made("a", 100));
  MadeRun other = made("a", 90);
  write_run(results(), other, "b");
  EXPECT_THAT(remarks_about(runs()), ElementsAre(HasSubstr("different runs have the id a: a, b")));
}

TEST_F(RunIndexTest, NamesWithOddCharactersAreFoundAsTheyAre) {
  const std::vector<std::string> names{"a b",      "it's \"quoted\"",        "new\nline", "ü-日本",
                                       "\xff\xfe", "'; DROP TABLE runs; --", "%s%n"};
  for (const std::string& name : names) write_run(results(), made("id " + name), name);
  std::vector<std::string> found = folders();
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(names));
  EXPECT_EQ(runs().size(), names.size());
  EXPECT_EQ(read_, 0);
}

TEST_F(RunIndexTest, TagsAndNotesComeFromTheRunAndSurviveTheIndex) {
  const fs::path run = write_run(results(), made("a"));
  write_run(results(), made("b"));
  EXPECT_EQ(runs().size(), 2);
  change_labels(run, [](Labels& labels) {
    labels.tags = {"good"};
    labels.notes = {{"2026-01-01T00:00:00Z", "Fan 3 was broken"}};
  });
  EXPECT_THAT(folders({.tags = {"good"}}), ElementsAre("a"));
  fs::remove(file());
  EXPECT_THAT(folders({.note = "fan 3"}), ElementsAre("a"));
  EXPECT_THAT(folders({.tags = {"bad"}}), IsEmpty());
}

TEST_F(RunIndexTest, BrokenLabelsAreSaidAndTheRunIsStillThere) {
  const fs::path run = write_run(results(), made("a"));
  write_file_atomic(run / "labels.json", "{\"tags\": 3", false);
  EXPECT_EQ(runs().at(0).state, RunState::ended);
  EXPECT_THAT(runs().at(0).problem, HasSubstr("labels.json"));
}

}  // namespace
}  // namespace assay::history
