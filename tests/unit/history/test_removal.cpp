#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "error_of.h"
#include "history/remove_runs.h"
#include "history/retention.h"
#include "history/run_labels.h"
#include "store/run_dir.h"
#include "temporary_folder.h"

namespace assay::history {
namespace {

namespace fs = std::filesystem;
using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RemovalTest : public assay::testing::Test {
 protected:
  fs::path make_run(const std::string& name) const {
    folder_.write(name + "/plan.json", "{}");
    folder_.write(name + "/case/round1/node_noderank0/rank0.out.log", std::string(10'000, 'x'));
    return folder_.path() / name;
  }
  assay::testing::TemporaryFolder folder_;
};

TEST_F(RemovalTest, ARunGoesWithAllThatIsInIt) {
  const fs::path run = make_run("a");
  make_run("b");
  fs::create_directory_symlink("a", folder_.path() / "latest");
  EXPECT_GE(disk_use(run), 10'000);
  remove_run(run.string() + "/");
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(left, UnorderedElementsAre("b", "latest"));
  EXPECT_EQ(fs::read_symlink(folder_.path() / "latest"), "b") << "the newest that is left";
  remove_run(folder_.path() / "b");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(RemovalTest, WhatLinksLeadToStays) {
  const fs::path outside = make_run("outside");
  const fs::path run = make_run("a");
  fs::create_directory_symlink(outside, run / "link");
  remove_run(run);
  EXPECT_TRUE(fs::exists(outside / "plan.json"));
  fs::create_directory_symlink(outside, folder_.path() / "latest");
  EXPECT_THAT(error_of([&] {
                remove_run(folder_.path() / "latest");
                return 0;
              }),
              HasSubstr("links are not followed"));
  EXPECT_TRUE(fs::exists(outside / "plan.json"));
}

TEST_F(RemovalTest, WhatIsNoRunStays) {
  folder_.write("notes/a.txt", "precious");
  folder_.write("linked/a.txt", "precious");
  fs::create_symlink("a.txt", folder_.path() / "linked/plan.json");
  const fs::path file = folder_.write("file", "precious");
  for (const fs::path& path :
       {folder_.path() / "notes", folder_.path() / "linked", file, folder_.path() / "none"}) {
    EXPECT_NE(error_of([&] {
                remove_run(path);
                return 0;
              }),
              "no error")
        << path;
  }
  EXPECT_TRUE(fs::exists(folder_.path() / "notes/a.txt"));
  EXPECT_TRUE(fs::exists(folder_.path() / "linked/a.txt"));
}

TEST_F(RemovalTest, ARunThatGoesOnStays) {
  const fs::path run = make_run("a");
  const store::RunLock lock(run);
  EXPECT_THAT(error_of([&] {
                remove_run(run);
                return 0;
              }),
              HasSubstr("going on"));
  EXPECT_TRUE(fs::exists(run / "plan.json"));
}

TEST_F(RemovalTest, ARemovalThatWasCutOffIsFinished) {
  make_run(".assay-removing-17-a");
  make_run("b");
  EXPECT_EQ(finish_removals(folder_.path()), 1);
  EXPECT_FALSE(fs::exists(folder_.path() / ".assay-removing-17-a"));
  EXPECT_TRUE(fs::exists(folder_.path() / "b"));
}

FoundRun run_at(const std::string& folder, std::int64_t ms, std::vector<std::string> tags = {},
                RunState state = RunState::ended) {
  FoundRun run;
  run.folder = folder;
  run.started_ms = ms;
  run.tags = std::move(tags);
  run.state = state;
  return run;
}

std::vector<std::string> going(const Retention& retention) {
  const std::vector<FoundRun> runs{run_at("c", 300),
                                   run_at("a", 100),
                                   run_at("b", 200, {"good"}),
                                   run_at("d", 400, {"bad"}),
                                   run_at("running", 50, {}, RunState::running),
                                   run_at("timeless", 0)};
  std::vector<std::string> out;
  for (const FoundRun& run : runs_to_remove(runs, retention)) out.push_back(run.folder);
  return out;
}

TEST(RetentionRules, SayWhatGoes) {
  EXPECT_THAT(going({}), IsEmpty());
  EXPECT_THAT(going({.keep_tagged = true}), IsEmpty());
  EXPECT_THAT(going({.keep_last = 2}), ElementsAre("timeless", "a", "b"));
  EXPECT_THAT(going({.keep_last = 99}), IsEmpty());
  EXPECT_THAT(going({.older_than_ms = 300}), ElementsAre("a", "b"));
  EXPECT_THAT(going({.older_than_ms = 1000, .keep_tagged = true}), ElementsAre("a", "c"));
  EXPECT_THAT(going({.older_than_ms = 1000, .keep_tags = {"good"}}), ElementsAre("a", "c", "d"));
  EXPECT_THAT(going({.keep_last = 1, .older_than_ms = 250}), ElementsAre("a", "b"));
}

TEST(LabelRules, TagsAndNotesAreChecked) {
  for (const char* tag : {"good", "v1.2:x", "new-driver", "schön"}) EXPECT_NO_THROW(check_tag(tag));
  for (const std::string& tag : {std::string(), std::string("-x"), std::string("a b"),
                                 std::string("a\n"), std::string(65, 'x'), std::string("\xff")})
    EXPECT_NE(error_of([&] {
                check_tag(tag);
                return 0;
              }),
              "no error")
        << tag;
  EXPECT_NO_THROW(check_note("one\ntwo"));
  EXPECT_NE(error_of([] {
              check_note(" ");
              return 0;
            }),
            "no error");
  EXPECT_NE(error_of([] {
              check_note("\x1b[2J");
              return 0;
            }),
            "no error");
}

TEST(LabelFile, KeepsWhatWasWritten) {
  const assay::testing::TemporaryFolder folder;
  EXPECT_THAT(read_labels(folder.path()).tags, IsEmpty());
  change_labels(folder.path(), [](Labels& labels) { labels.tags = {"b", "a", "b"}; });
  change_labels(folder.path(), [](Labels& labels) { labels.notes.push_back({"now", "text"}); });
  const Labels labels = read_labels(folder.path());
  EXPECT_THAT(labels.tags, ElementsAre("a", "b"));
  EXPECT_EQ(labels.notes.at(0).text, "text");
  folder.write("labels.json", R"({"schema_version": 2, "tags": [], "notes": []})");
  EXPECT_THAT(error_of([&] { return read_labels(folder.path()); }), HasSubstr("newer"));
  // What cannot be understood is not overwritten.
  EXPECT_NE(error_of([&] { return change_labels(folder.path(), [](Labels&) {}); }), "no error");
}

}  // namespace
}  // namespace assay::history
