// assay history, find, tag, note and rm on real runs.

#include <gmock/gmock.h>

#include "core/files.h"
#include "e2e/harness.h"
#include "store/run_dir.h"

namespace assay::e2e {

using ::testing::HasSubstr;

class History : public AssayTest {
 protected:
  // The folder of a run of one short round, whose steps take so long.
  fs::path run(int step_ms = 5) const {
    const fs::path suite =
        write("history.yaml",
              "name: history\n"
              "cases: [{case: null:native:cpu:1:1:1, config: {steps: 12, step_ms: " +
                  std::to_string(step_ms) + "}}]\n");
    const CommandResult result = assay({"run", suite.string()});
    EXPECT_TRUE(fs::exists(latest() / "result.json")) << result.out << result.err;
    return latest();
  }
  [[nodiscard]] Json found(std::vector<std::string> args) const {
    args.insert(args.begin(), "find");
    args.insert(args.end(), {"--format", "json"});
    const CommandResult result = assay(args);
    EXPECT_EQ(result.status.code, 0) << result.err;
    return Json::parse(result.out)["runs"];
  }
};

TEST_F(History, ASlowDownOfRealRunsIsMarkedWithTheSettingThatChangedAndEndsWithSeven) {
  for (int i = 0; i < 12; ++i) (void)run(i < 6 ? 10 : 30);
  const CommandResult json =
      assay({"history", "--invalid-too", "--format", "json", "--fail-on", "2"});
  EXPECT_EQ(json.status.code, 7) << json.out << json.err;
  EXPECT_THAT(json.err, HasSubstr("is worse by"));
  const Json trend = Json::parse(json.out)["trends"][0];
  ASSERT_EQ(trend["points"].size(), 12);
  ASSERT_EQ(trend["changes"].size(), 1) << json.out;
  EXPECT_EQ(trend["changes"][0]["at"], 6);
  bool named = false;
  for (const Json& difference : trend["changes"][0]["differences"])
    named |= difference["what"] == "config.step_ms" && difference["after"] == "30.0";
  EXPECT_TRUE(named) << trend["changes"].dump(1);
  const CommandResult page =
      assay({"history", "--invalid-too", "--format", "html", "-o", "results/history.html"});
  EXPECT_EQ(page.status.code, 0) << page.err;
  EXPECT_THAT(read_file(folder_ / "results/history.html"), HasSubstr("config.step_ms"));
}

TEST_F(History, TagsAndNotesAreFoundAndChangeNothingOfTheResult) {
  const fs::path first = run();
  const fs::path second = run();
  const std::string before = read_file(first / "result.json");
  EXPECT_EQ(assay({"tag", first.string(), "+good", "hot"}).out, "good\nhot\n");
  EXPECT_EQ(assay({"tag", first.filename().string(), "-hot"}).out, "good\n");
  EXPECT_EQ(assay({"note", first.string(), "Fan 3 was broken"}).status.code, 0);
  const Json tagged = found({"--tag", "good"});
  ASSERT_EQ(tagged.size(), 1);
  EXPECT_EQ(tagged[0]["folder"], first.filename().string());
  EXPECT_EQ(found({"--note", "fan 3"}).size(), 1);
  EXPECT_EQ(found({"--note", "fan 4"}).size(), 0);
  EXPECT_EQ(found({"--where", "steps >= 12"}).size(), 2);
  (void)assay({"report", first.string()});
  EXPECT_EQ(read_file(first / "result.json"), before);
  EXPECT_THAT(assay({"tag", second.string(), "a b"}).err, HasSubstr("not a valid tag"));
}

TEST_F(History, RmRemovesWhatIsAgreedAndNothingElse) {
  const fs::path first = run();
  const fs::path second = run();
  const CommandResult unasked = assay({"rm", first.string()});
  EXPECT_EQ(unasked.status.code, 2);
  EXPECT_THAT(unasked.err, HasSubstr("--yes"));
  EXPECT_TRUE(fs::exists(first));
  EXPECT_EQ(assay({"rm", "results/latest", "--yes"}).status.code, 2);
  {
    const store::RunLock going_on(second);
    const CommandResult refused = assay({"rm", first.string(), second.string(), "--yes"});
    EXPECT_EQ(refused.status.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("going on"));
    EXPECT_TRUE(fs::exists(first));
  }
  const CommandResult shown = assay({"rm", "--keep-last", "1"});
  EXPECT_EQ(shown.status.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr(first.filename().string()));
  EXPECT_TRUE(fs::exists(first));
  EXPECT_EQ(assay({"rm", "--keep-last", "1", "--yes"}).status.code, 0);
  EXPECT_FALSE(fs::exists(first));
  EXPECT_TRUE(fs::exists(second / "result.json"));
  EXPECT_EQ(found({}).size(), 1);
  const CommandResult disk = assay({"history", "--disk"});
  EXPECT_THAT(disk.out, HasSubstr("1 run, "));
}

TEST_F(History, AnArchivedRunIsFoundAndComparedAndComesBackByteForByte) {
  const fs::path first = run();
  const fs::path second = run();
  const std::string before = read_file(first / "result.json");
  const CommandResult dry = assay({"archive", "--keep-last", "1", "--dry-run"});
  EXPECT_EQ(dry.status.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("Would: Pack and remove the files of 1 run, "));
  EXPECT_TRUE(fs::exists(first / "plan.json"));
  const CommandResult archived = assay({"archive", "--keep-last", "1", "--yes"});
  EXPECT_EQ(archived.status.code, 0) << archived.err;
  EXPECT_FALSE(fs::exists(first / "plan.json"));
  EXPECT_TRUE(fs::exists(second / "plan.json"));
  const Json packed = found({"--archived"});
  ASSERT_EQ(packed.size(), 1);
  EXPECT_EQ(packed[0]["folder"], first.filename().string());
  const std::string pack = packed[0]["archived"];
  EXPECT_EQ(found({"--where", "steps >= 12"}).size(), 2);
  EXPECT_EQ(assay({"tag", first.string(), "+old"}).out, "old\n");
  for (const std::string& side : {first.string(), pack}) {
    const CommandResult compared =
        assay({"compare", side, second.string(), "--invalid-too", "--format", "json"});
    EXPECT_EQ(compared.status.code, 0) << compared.err;
    EXPECT_THAT(compared.out, HasSubstr(first.filename().string()));
  }
  const CommandResult refused = assay({"report", first.string()});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("assay archive --restore"));
  // Rules of rm leave archived runs alone.
  EXPECT_THAT(assay({"rm", "--keep-last", "1", "--yes"}).out, HasSubstr("No run may go"));
  EXPECT_EQ(assay({"archive", "--restore", first.string()}).status.code, 0);
  EXPECT_EQ(read_file(first / "result.json"), before);
  (void)assay({"report", first.string()});
  EXPECT_EQ(read_file(first / "result.json"), before);
  EXPECT_EQ(found({"--tag", "old"}).size(), 1);
}

TEST_F(History, WithoutRunsItSaysWhatToDo) {
  const CommandResult none = assay({"history"});
  EXPECT_EQ(none.status.code, 2);
  EXPECT_THAT(none.err, HasSubstr("assay run"));
}

}  // namespace assay::e2e
