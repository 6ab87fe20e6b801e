#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/folder_scan.h"
#include "core/sha256.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::code {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ScannedFolder : public ::testing::Test {
 protected:
  void write(const char* name, const std::string& content = "x") { folder_.write(name, content); }
  void link(const char* name, const std::string& target) {
    ASSERT_EQ(::symlink(target.c_str(), (folder_.path() / name).c_str()), 0);
  }
  [[nodiscard]] Scan scan() const { return scan_folder(folder_.path(), options_); }
  [[nodiscard]] std::vector<std::string> paths() const {
    std::vector<std::string> out;
    for (const File& file : scan().manifest.files) out.push_back(file.path);
    return out;
  }

  assay::testing::TemporaryFolder folder_;
  ScanOptions options_;
};

TEST_F(ScannedFolder, HasItsFilesWithHashesAndModes) {
  write("run.sh", "echo");
  write("lib/a.py", "");
  ASSERT_EQ(::chmod((folder_.path() / "run.sh").c_str(), 0755), 0);
  EXPECT_THAT(scan().manifest.files, ElementsAre(File{"lib/a.py", 0, sha256(""), false},
                                                 File{"run.sh", 4, sha256("echo"), true}));
}

TEST_F(ScannedFolder, LeavesOutVersionsResultsAndWhatIsBuilt) {
  for (const char* name : {"a.py", ".git/config", "sub/.git/config", "results/r/plan.json",
                           "build/x", "sub/build/x", "m.o", "p/__pycache__/m.pyc", ".venv/bin/py"})
    write(name);
  EXPECT_THAT(paths(), ElementsAre("a.py", "sub/build/x"));
}

TEST_F(ScannedFolder, LeavesOutRunsWhateverTheyAreCalledAndNamesThem) {
  for (const char* name :
       {"a.py", "old/first/plan.json", "old/first/journal.jsonl", "old/first/result.json",
        "old/second/plan.json", "old/second/journal.jsonl", "old/notes", "notes/plan.json"})
    write(name);
  EXPECT_THAT(paths(), ElementsAre("a.py", "notes/plan.json", "old/notes"));
  EXPECT_THAT(scan().runs, ElementsAre("old/first", "old/second"));
}

TEST_F(ScannedFolder, SendsARunThatItsRulesTakeBackOrThatItIs) {
  for (const char* name : {"a/plan.json", "a/journal.jsonl", "b/plan.json", "b/journal.jsonl",
                           "plan.json", "journal.jsonl"})
    write(name);
  write(".assayignore", "!/a/\n");
  EXPECT_THAT(paths(), ElementsAre(".assayignore", "a/journal.jsonl", "a/plan.json",
                                   "journal.jsonl", "plan.json"));
  EXPECT_THAT(scan().runs, ElementsAre("b"));
}

TEST_F(ScannedFolder, LeavesOutTheDataOfAServerThatWasStartedHere) {
  for (const char* name : {"a.py", "tester/admin.token", "tester/accounts.db"}) write(name);
  EXPECT_THAT(paths(), ElementsAre("a.py"));
}

TEST_F(ScannedFolder, LeavesOutRunsWhereverTheyLie) {
  for (const char* name :
       {"a.py", "out/r/plan.json", "out/r/journal.jsonl", "out/r/fit/log", "out/plan.json",
        ".assay-history.db", "kept/.assay-history.db", "kept/notes"})
    write(name);
  EXPECT_THAT(paths(), ElementsAre("a.py", "out/plan.json"));
}

TEST_F(ScannedFolder, FollowsItsOwnRules) {
  write(".assayignore", "*.bin\n!/build/\n!.git\n");
  for (const char* name : {"a.bin", "build/x", ".git/config"}) write(name);
  EXPECT_THAT(paths(), ElementsAre(".assayignore", "build/x"));
}

TEST_F(ScannedFolder, NamesLikelySecretsAndLeavesThemOut) {
  write(".env", "TOKEN=1");
  write("deploy", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
  write("a.py");
  EXPECT_THAT(paths(), ElementsAre("a.py"));
  EXPECT_THAT(scan().secrets, ElementsAre(".env", "deploy"));
  options_.send_secrets = true;
  EXPECT_THAT(paths(), ElementsAre(".env", "a.py", "deploy"));
  EXPECT_THAT(scan().secrets, ElementsAre());
}

TEST_F(ScannedFolder, KnowsCredentialsOfAStoreByTheirContent) {
  write("mine.json", R"({"access_key": "a", "secret_key": "b"})");
  write("other.json", R"({"access": "secret_key"})");
  EXPECT_THAT(paths(), ElementsAre("other.json"));
  EXPECT_THAT(scan().secrets, ElementsAre("mine.json"));
}

TEST_F(ScannedFolder, SendsWhatLooksLikeASecretAndIsTakenBack) {
  write(".assayignore", "!tokens.txt\n!schema.json\n!.git\n");
  for (const char* name : {"tokens.txt", "sub/token", ".git/config"}) write(name);
  write("schema.json", R"({"secret_key": {"type": "string"}})");
  EXPECT_THAT(paths(), ElementsAre(".assayignore", "schema.json", "tokens.txt"));
  EXPECT_THAT(scan().secrets, ElementsAre("sub/token"));
}

TEST_F(ScannedFolder, KeepsLinksThatStayInside) {
  write("data/a");
  link("latest", "data");
  link("data/up", "../data/a");
  link("whole", (folder_.path() / "data/a").string());
  link("dangling", "nothing");
  EXPECT_THAT(scan().manifest.links,
              ElementsAre(Link{"dangling", "nothing"}, Link{"data/up", "../data/a"},
                          Link{"latest", "data"}, Link{"whole", "data/a"}));
}

TEST_F(ScannedFolder, RefusesLinksThatLeadOutAndNamesThem) {
  link("passwords", "/etc/passwd");
  link("up", "../other");
  EXPECT_THAT(assay::testing::error_of([&] { return scan(); }),
              AllOf(HasSubstr("2 links lead out of the folder"),
                    HasSubstr("passwords → /etc/passwd"), HasSubstr("up → ../other")));
  write(".assayignore", "passwords\nup\n");
  EXPECT_THAT(paths(), ElementsAre(".assayignore"));
}

TEST_F(ScannedFolder, RefusesTooMuchAndNamesTheLargest) {
  write("weights.bin", std::string(2000, 'x'));
  write("a.py");
  options_.limits.bytes = 1000;
  EXPECT_THAT(assay::testing::error_of([&] { return scan(); }),
              AllOf(HasSubstr("weights.bin"), HasSubstr(".assayignore")));
}

TEST_F(ScannedFolder, WaitsForNoPipe) {
  ASSERT_EQ(::mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(scan().special, ElementsAre("pipe"));
}

TEST_F(ScannedFolder, MustBeAFolder) {
  EXPECT_THAT(assay::testing::error_of([&] { return scan_folder(folder_.path() / "no", {}); }),
              HasSubstr("not a folder"));
}

}  // namespace
}  // namespace assay::code
