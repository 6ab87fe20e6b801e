#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../serve/refused.h"
#include "core/files.h"
#include "core/sha256.h"
#include "error_of.h"
#include "temporary_folder.h"
#include "tester/records.h"

namespace assay::tester {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class RecordsTest : public ::testing::Test {
 protected:
  std::string make(const std::string& key = {}) {
    TestRecord wanted;
    wanted.token = "alice";
    wanted.name = "n";
    bool is_new = false;
    return records_.make_test(wanted, key, is_new).id;
  }
  static Manifest manifest_of(std::uint64_t bytes) {
    Manifest manifest;
    manifest.files = {{"plan.json", bytes, std::string(64, 'a')}, {"journal.jsonl", 0, "b"}};
    manifest.claim = {{"verdict", "VALID"}};
    return manifest;
  }

  testing::TemporaryFolder folder_;
  Records records_{folder_.path() / "t.db"};
  std::string alice_ = records_.add_token("alice");
};

TEST_F(RecordsTest, ATokenIsKnownByItself) {
  EXPECT_THAT(alice_, MatchesRegex("assay-[0-9a-f]{64}"));
  EXPECT_EQ(records_.token_name(alice_), "alice");
  EXPECT_EQ(records_.token_name(alice_ + "x"), std::nullopt);
  EXPECT_EQ(records_.token_name(""), std::nullopt);
  EXPECT_NE(records_.add_token("bob"), alice_);
}

TEST_F(RecordsTest, OnlyTheHashOfATokenIsStored) {
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const std::string content = read_file(entry.path());
    EXPECT_EQ(content.find(alice_), std::string::npos) << entry.path();
    EXPECT_EQ(content.find(alice_.substr(6)), std::string::npos) << entry.path();
  }
  const std::string wal = read_file_or_empty(folder_.path() / "t.db-wal");
  EXPECT_NE(wal.find(sha256(alice_)), std::string::npos);
}

TEST_F(RecordsTest, ARevokedTokenIsNotKnown) {
  records_.revoke_token("alice");
  EXPECT_EQ(records_.token_name(alice_), std::nullopt);
  EXPECT_NE(records_.tokens().at(0).revoked, "");
  EXPECT_THAT(testing::error_of([&] { return records_.add_token("alice"); }), HasSubstr("already"));
}

TEST_F(RecordsTest, ATokenNeedsAName) {
  for (const char* name : {"", "a b", "a/b", "ü"})
    EXPECT_THAT(testing::error_of([&] { return records_.add_token(name); }),
                HasSubstr("not a valid name"));
  EXPECT_THAT(testing::error_of([&] {
                records_.revoke_token("nobody");
                return 0;
              }),
              HasSubstr("no token"));
}

TEST_F(RecordsTest, AnotherProcessSeesChangesAtOnce) {
  Records other(folder_.path() / "t.db");
  EXPECT_EQ(other.token_name(alice_), "alice");
  records_.revoke_token("alice");
  EXPECT_EQ(other.token_name(alice_), std::nullopt);
}

TEST_F(RecordsTest, TestIdsAreThoseOfAisBench) {
  EXPECT_THAT(make(), MatchesRegex("[0-9]{8}-[0-9A-Za-z]{6}"));
  EXPECT_NE(make(), make());
}

TEST_F(RecordsTest, TheSameKeyGivesTheSameTest) {
  const std::string id = make("key");
  EXPECT_EQ(make("key"), id);
  EXPECT_NE(make("other"), id);
  EXPECT_NE(make(), make());
  EXPECT_EQ(records_.list({}).total, 4);
}

TEST_F(RecordsTest, TheFirstManifestStays) {
  const std::string id = make();
  records_.set_manifest(id, manifest_of(5), 100);
  records_.set_manifest(id, manifest_of(5), 100);
  EXPECT_EQ(serve::refused([&] {
              records_.set_manifest(id, manifest_of(6), 100);
              return 0;
            }),
            "409 manifest_exists");
  EXPECT_EQ(to_json(*records_.manifest(id)), to_json(manifest_of(5)));
  EXPECT_EQ(records_.file(id, 0)->size, 5U);
  EXPECT_FALSE(records_.file(id, 2));
  EXPECT_EQ(records_.test(id)->status, TestStatus::uploading);
}

TEST_F(RecordsTest, TheQuotaCountsAllTestsButRefusedOnes) {
  const std::string first = make();
  records_.set_manifest(first, manifest_of(60), 100);
  const std::string second = make();
  const auto add = [&] {
    records_.set_manifest(second, manifest_of(41), 100);
    return 0;
  };
  EXPECT_EQ(serve::refused(add), "507 no_room");
  TestRecord end = *records_.test(first);
  end.status = TestStatus::refused;
  records_.finish(end);
  EXPECT_EQ(serve::refused(add), "granted");
}

TEST_F(RecordsTest, AFinishedTestNeverChanges) {
  TestRecord test = *records_.test(make());
  test.status = TestStatus::accepted;
  test.verdict = "VALID";
  test.answer = {{"status", "accepted"}};
  records_.finish(test);
  test.status = TestStatus::refused;
  test.verdict = "INVALID";
  records_.finish(test);
  const TestRecord kept = *records_.test(test.id);
  EXPECT_EQ(kept.status, TestStatus::accepted);
  EXPECT_EQ(kept.verdict, "VALID");
  EXPECT_EQ(kept.answer, test.answer);
}

TEST_F(RecordsTest, AListHasPagesAndAFilter) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(make());
  TestRecord test = *records_.test(ids[1]);
  test.status = TestStatus::accepted;
  records_.finish(test);
  const TestPage second = records_.list({.page = 2, .per_page = 2});
  EXPECT_EQ(second.total, 5);
  ASSERT_EQ(second.tests.size(), 2U);
  EXPECT_EQ(second.tests[0].id, ids[2]);
  EXPECT_EQ(second.tests[1].id, ids[1]);
  EXPECT_EQ(records_.list({.status = TestStatus::accepted}).total, 1);
  EXPECT_TRUE(records_.list({.page = 9, .per_page = 10}).tests.empty());
}

TEST_F(RecordsTest, AListIsSortedAndSearched) {
  for (const char* name : {"beta", "alpha", "gamma"}) {
    TestRecord wanted;
    wanted.token = "alice";
    wanted.name = name;
    bool is_new = false;
    (void)records_.make_test(wanted, "", is_new);
  }
  const auto names = [&](const TestQuery& query) {
    std::string out;
    for (const TestRecord& test : records_.list(query).tests) out += test.name[0];
    return out;
  };
  EXPECT_EQ(names({}), "gab");
  EXPECT_EQ(names({.sort = TestSort::name, .descending = false}), "abg");
  EXPECT_EQ(names({.text = "ALPH"}), "a");
  EXPECT_EQ(names({.text = "' OR 1=1"}), "");
  EXPECT_EQ(records_.list({.text = "alpha"}).tests.at(0).number, 2);
}

TEST_F(RecordsTest, ATokenHasSoManyOpenTests) {
  TestRecord wanted;
  wanted.token = "alice";
  bool is_new = false;
  const auto make_one = [&] { return records_.make_test(wanted, "", is_new, 2).id; };
  TestRecord first = *records_.test(make_one());
  (void)make_one();
  EXPECT_EQ(serve::refused(make_one), "429 too_many_open");
  first.status = TestStatus::accepted;
  records_.finish(first);
  EXPECT_EQ(serve::refused(make_one), "granted");
}

TEST_F(RecordsTest, TheSameRunIsOneTest) {
  const std::string first = make();
  const std::string second = make();
  records_.set_manifest(first, manifest_of(5), 100);
  EXPECT_EQ(serve::refused([&] {
              records_.set_manifest(second, manifest_of(5), 100);
              return 0;
            }),
            "409 same_run");
  EXPECT_FALSE(records_.test(second));
  const std::string reserved = make();
  EXPECT_EQ(serve::refused([&] {
              records_.set_manifest(reserved, manifest_of(5), 100, /*reserved=*/true);
              return 0;
            }),
            "409 same_run");
  EXPECT_TRUE(records_.test(reserved)) << "the run that it waits for comes yet";
  records_.set_manifest(reserved, manifest_of(6), 100, /*reserved=*/true);
  // What was refused may be tried again.
  TestRecord end = *records_.test(first);
  end.status = TestStatus::refused;
  records_.finish(end);
  const std::string third = make();
  records_.set_manifest(third, manifest_of(5), 100);
  EXPECT_TRUE(records_.manifest(third));
}

TEST_F(RecordsTest, ARotatedTokenHasANewSecret) {
  const std::string fresh = records_.rotate_token("alice");
  EXPECT_EQ(records_.token_name(alice_), std::nullopt);
  EXPECT_EQ(records_.token_name(fresh), "alice");
  EXPECT_THAT(testing::error_of([&] { return records_.rotate_token("nobody"); }),
              HasSubstr("no token"));
}

TEST_F(RecordsTest, IdsWithoutAManifestEndSooner) {
  const std::string empty = make();
  const std::string coming = make();
  records_.set_manifest(coming, manifest_of(5), 100);
  EXPECT_THAT(records_.unfinished_before("2000", "2999"), ::testing::ElementsAre(empty));
  EXPECT_EQ(records_.unfinished_before("2999", "2000").size(), 2U);
}

TEST_F(RecordsTest, ADatabaseOfANewerAssayIsLeftAlone) {
  const auto file = folder_.path() / "new.db";
  Database(file).execute("PRAGMA user_version = 99");
  EXPECT_THAT(testing::error_of([&] {
                Records records(file);
                return 0;
              }),
              HasSubstr("schema 99"));
}

TEST_F(RecordsTest, ValuesAreNeverTakenForSql) {
  TestRecord wanted;
  wanted.token = "alice";
  wanted.name = "'); DROP TABLE tests; --";
  bool is_new = false;
  const std::string id = records_.make_test(wanted, "' OR 1=1 --", is_new).id;
  EXPECT_TRUE(is_new);
  EXPECT_EQ(records_.test(id)->name, wanted.name);
  EXPECT_FALSE(records_.test("' OR '1'='1"));
}

}  // namespace
}  // namespace assay::tester
