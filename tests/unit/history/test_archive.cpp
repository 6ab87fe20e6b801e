#include <map>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "error_of.h"
#include "history/archive_runs.h"
#include "history/remove_runs.h"
#include "history/run_filter.h"
#include "history/run_labels.h"
#include "made_runs.h"
#include "store/run_dir.h"
#include "temporary_folder.h"

namespace assay::history {
namespace {

namespace fs = std::filesystem;
using assay::testing::error_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::SizeIs;

using Files = std::map<std::string, std::string>;

class ArchiveTest : public assay::testing::Test {
 protected:
  [[nodiscard]] fs::path make_run(const std::string& id) const {
    plan::Plan plan;
    plan.run_id = id;
    const fs::path run = store::RunDir::create(results_, plan).path();
    const fs::path made =
        write_run(folder_.path() / "made", {.id = id, .started = "2026-01-01T00:00:00Z"});
    fs::copy_file(made / "result.json", run / "result.json");
    folder_.write(run / "journal.jsonl", "{}\n");
    folder_.write(run / "case/round1/node_noderank0/rank0.out.log", std::string(200'000, 'x'));
    folder_.write(run / "push.json", "{}");
    return run;
  }
  [[nodiscard]] static Files files_in(const fs::path& folder) {
    Files out;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().filename() != "lock")
        out[entry.path().lexically_relative(folder).generic_string()] = read_file(entry.path());
    return out;
  }
  [[nodiscard]] std::vector<std::string> hidden() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(results_))
      if (const std::string name = entry.path().filename().string();
          name.starts_with(".assay-") && !name.starts_with(RunIndex::kFile))
        out.push_back(name);
    return out;
  }
  [[nodiscard]] std::vector<FoundRun> found() const {
    return ask_index(results_, {}, [](RunIndex& index) { return find_runs(index, {}); });
  }

  assay::testing::TemporaryFolder folder_;
  fs::path results_ = folder_.path() / "results";
};

TEST_F(ArchiveTest, TheHistoryKeepsTheNumbersAndSaysWhereThePackIs) {
  const fs::path run = make_run("a");
  const std::vector<FoundRun> before = found();
  archive_run(run, {});
  EXPECT_THAT(files_in(run), Not(Contains(Key("plan.json"))));
  const std::vector<FoundRun> after = found();
  ASSERT_THAT(after, SizeIs(1));
  EXPECT_EQ(after[0].archived, (results_ / "a/a.assay").string());
  EXPECT_EQ(after[0].started_ms, before[0].started_ms);
  EXPECT_EQ(after[0].validity, before[0].validity);
  const auto numbers = [&](const char* where) {
    RunFilter filter;
    filter.conditions.push_back(parse_condition(where));
    return ask_index(results_, {.rebuild = true},
                     [&](RunIndex& index) { return find_runs(index, filter).size(); });
  };
  EXPECT_EQ(numbers("steady_throughput > 99"), 1);
  EXPECT_EQ(numbers("steady_throughput > 101"), 0);
  EXPECT_THAT(error_of([&] { return store::RunDir::open(run).path(); }),
              HasSubstr("assay archive --restore"));
}

TEST_F(ArchiveTest, ARestoredRunIsWhatItWasWithTheTagsItGotMeanwhile) {
  const fs::path run = make_run("a");
  change_labels(run, [](Labels& labels) { labels.tags = {"early"}; });
  Files before = files_in(run);
  archive_run(run, {});
  EXPECT_THAT(read_labels(run).tags, ElementsAre("early"));
  change_labels(run, [](Labels& labels) { labels.tags.push_back("late"); });
  restore_run(run);
  EXPECT_THAT(read_labels(run).tags, ElementsAre("early", "late"));
  Files after = files_in(run);
  before.erase("labels.json");
  after.erase("labels.json");
  EXPECT_EQ(after, before);
  EXPECT_THAT(found().at(0).archived, IsEmpty());
  EXPECT_THAT(hidden(), IsEmpty());
}

TEST_F(ArchiveTest, CutOffWhileItPacksTheRunIsThereAsItWas) {
  const fs::path run = make_run("a");
  const Files before = files_in(run);
  const fs::path to = folder_.path() / "packs";
  const auto stop = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("stopped"); };
  EXPECT_THROW(archive_run(run, {}, {1, stop}), std::runtime_error);
  EXPECT_THROW(archive_run(run, to, {1, stop}), std::runtime_error);
  EXPECT_EQ(files_in(run), before);
  EXPECT_THAT(hidden(), IsEmpty());
  EXPECT_TRUE(fs::is_empty(to));
}

TEST_F(ArchiveTest, WhatAKilledProcessLeftIsCleanedUpAndARunThatItHeldIsPutBack) {
  const fs::path run = make_run("a");
  folder_.write(results_ / ".assay-building-17-a/run/a.assay", "half of it");
  // Killed between two renames, on a file system that cannot exchange two folders.
  fs::rename(make_run("b"), results_ / ".assay-replaced-b");
  fs::copy(run, results_ / ".assay-replaced-a", fs::copy_options::recursive);
  finish_removals(results_);
  EXPECT_THAT(hidden(), IsEmpty());
  EXPECT_TRUE(fs::exists(results_ / "a/plan.json"));
  EXPECT_TRUE(fs::exists(results_ / "b/plan.json"));
}

TEST_F(ArchiveTest, WhatAnotherProcessBuildsStays) {
  const fs::path run = make_run("a");
  const Replacement other(run);
  finish_removals(results_);
  EXPECT_THAT(hidden(), SizeIs(1));
}

TEST_F(ArchiveTest, ARunThatCannotBePackedAsAWholeStays) {
  const fs::path run = make_run("a");
  const auto refusal = [&](const fs::path& to = {}) {
    return error_of([&] { return archive_run(run, to).run_id; });
  };
  fs::create_symlink("plan.json", run / "link");
  EXPECT_THAT(refusal(), HasSubstr("cannot be packed"));
  fs::remove(run / "link");
  fs::rename(run / "result.json", run / "moved.json");
  EXPECT_THAT(refusal(), HasSubstr("no result.json"));
  fs::rename(run / "moved.json", run / "result.json");
  folder_.write("packs/a.assay", "something else");
  EXPECT_NE(refusal(folder_.path() / "packs"), "no error");
  EXPECT_EQ(read_file(folder_.path() / "packs/a.assay"), "something else");
  {
    const store::RunLock going_on(run);
    EXPECT_THAT(refusal(), HasSubstr("going on"));
  }
  EXPECT_TRUE(fs::exists(run / "plan.json"));
  EXPECT_THAT(hidden(), IsEmpty());
  EXPECT_EQ(refusal(), "no error");
  EXPECT_THAT(refusal(), HasSubstr("archived already"));
}

TEST_F(ArchiveTest, APackThatAnEarlierAttemptWroteElsewhereIsUsed) {
  const fs::path run = make_run("a");
  const fs::path to = folder_.path() / "packs";
  pack::write(run, folder_.write("packs/a.assay", ""));
  archive_run(run, to);
  EXPECT_THAT(files_in(run), Not(Contains(Key("a.assay"))));
  EXPECT_EQ(found().at(0).archived, (to / "a.assay").string());
  restore_run(run);
  EXPECT_TRUE(fs::exists(to / "a.assay"));
  EXPECT_TRUE(fs::exists(run / "plan.json"));
}

TEST_F(ArchiveTest, APackThatIsGoneDamagedOrAnotherOneIsNotRestored) {
  const fs::path run = make_run("a");
  const auto refusal = [&] {
    return error_of([&] {
      restore_run(run);
      return 0;
    });
  };
  EXPECT_THAT(refusal(), HasSubstr("not archived"));
  archive_run(run, {});
  const std::string bytes = read_file(run / "a.assay");
  fs::remove(run / "a.assay");
  EXPECT_THAT(refusal(), HasSubstr("not there"));
  folder_.write(run / "a.assay", bytes.substr(0, bytes.size() / 2));
  EXPECT_NE(refusal(), "no error");
  const fs::path other = make_run("b");
  fs::rename(archive_run(other, {}).pack, run / "a.assay");
  EXPECT_THAT(refusal(), HasSubstr("other files"));
  EXPECT_TRUE(store::is_archived(run));
  folder_.write(run / "a.assay", bytes);
  EXPECT_EQ(refusal(), "no error");
}

TEST_F(ArchiveTest, ARuleMayChooseArchivedRunsOrOthers) {
  archive_run(make_run("a"), {});
  (void)make_run("b");
  const auto chosen = [&](bool archived) {
    return ask_index(results_, {}, [&](RunIndex& index) {
      return find_runs(index, {.archived = archived}).at(0).folder;
    });
  };
  EXPECT_EQ(chosen(true), "a");
  EXPECT_EQ(chosen(false), "b");
  EXPECT_THAT(remarks_about(found()), Contains(HasSubstr("1 run is archived")));
}

}  // namespace
}  // namespace assay::history
