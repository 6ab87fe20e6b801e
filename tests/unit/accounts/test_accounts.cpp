#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accounts/accounts.h"
#include "accounts/password.h"
#include "core/files.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::accounts {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr WallTime kNow = 1'800'000'000'000'000'000;

class AccountsTest : public ::testing::Test {
 protected:
  AccountsTest() {
    accounts_.put({.name = "root", .role = jobs::Role::admin}, kNow);
    accounts_.put({.name = "ann", .full_name = "Ann Ångström 安"}, kNow);
  }
  testing::TemporaryFolder folder_;
  Accounts accounts_{folder_.path() / "accounts.db"};
};

TEST_F(AccountsTest, APersonIsAsItWasPut) {
  const auto ann = accounts_.find("ann");
  ASSERT_TRUE(ann);
  EXPECT_EQ(ann->full_name, "Ann Ångström 安");
  EXPECT_EQ(ann->role, jobs::Role::member);
  EXPECT_FALSE(ann->has_password);
  EXPECT_FALSE(accounts_.find("Ann"));
}

TEST_F(AccountsTest, AreTheSameAfterARestart) {
  accounts_.set_members("vision", {"ann"});
  Accounts again(folder_.path() / "accounts.db");
  ASSERT_EQ(again.people().size(), 2U);
  EXPECT_THAT(again.people()[0].teams, ElementsAre("vision"));
}

TEST_F(AccountsTest, NamesThatHideOrBreakSomethingAreRefused) {
  for (const std::string& name :
       {std::string(), std::string(65, 'a'), std::string(10'000, 'x'), std::string("a b"),
        std::string("a\nb"), std::string("../x"), std::string(".hidden"), std::string("a/b"),
        std::string("<b>"), std::string("\u202Eadmin"), std::string("a\0b", 3)})
    EXPECT_THAT(error_of([&] { accounts_.put({.name = name}, kNow); }),
                HasSubstr("not a valid name of a user"))
        << name;
}

TEST_F(AccountsTest, FullNamesWithMarksOfDirectionOrControlCharactersAreRefused) {
  for (const std::string& name : {std::string("\u202Enimda"), std::string("a\nb"),
                                  std::string("\x1b[31m"), std::string(10'000, 'x')})
    EXPECT_THAT(error_of([&] { accounts_.put({.name = "bob", .full_name = name}, kNow); }),
                HasSubstr("not a valid full name"));
  EXPECT_FALSE(accounts_.find("bob"));
}

TEST_F(AccountsTest, TheLastAdministratorStays) {
  EXPECT_THAT(error_of([&] { accounts_.remove("root"); }), HasSubstr("no administrator left"));
  EXPECT_THAT(error_of([&] { accounts_.put({.name = "root", .role = jobs::Role::member}, kNow); }),
              HasSubstr("no administrator left"));
  EXPECT_THAT(error_of([&] {
                accounts_.put({.name = "root", .role = jobs::Role::admin, .disabled = true}, kNow);
              }),
              HasSubstr("no administrator left"));
  EXPECT_EQ(accounts_.find("root")->role, jobs::Role::admin);
  accounts_.put({.name = "ann", .role = jobs::Role::admin}, kNow);
  accounts_.remove("root");
  EXPECT_FALSE(accounts_.find("root"));
}

TEST_F(AccountsTest, TheNameOfSomebodyDeletedIsNeverAnotherOnes) {
  accounts_.remove("ann");
  EXPECT_THAT(error_of([&] { accounts_.put({.name = "ann"}, kNow); }),
              HasSubstr("was somebody's who has been deleted"));
  EXPECT_FALSE(accounts_.find("ann"));
}

TEST_F(AccountsTest, MembersAreReplacedAsAWhole) {
  accounts_.set_members("vision", {"ann", "root", "ann"});
  EXPECT_THAT(accounts_.members("vision"), ElementsAre("ann", "root"));
  EXPECT_THAT(error_of([&] {
                accounts_.set_members("vision", {"ann", "nobody"});
              }),
              HasSubstr("no user 'nobody'"));
  EXPECT_THAT(accounts_.members("vision"), ElementsAre("ann", "root"));
}

TEST_F(AccountsTest, APasswordIsKeptAsArgon2idOnly) {
  accounts_.set_password("ann", "correct horse battery");
  const std::string hash = hash_password("correct horse battery");
  EXPECT_THAT(hash, StartsWith("$argon2id$"));
  EXPECT_NE(hash, hash_password("correct horse battery"));
  for (const char* name : {"accounts.db", "accounts.db-wal"})
    if (const auto file = folder_.path() / name; std::filesystem::exists(file)) {
      EXPECT_THAT(read_file(file), Not(HasSubstr("correct horse battery")));
    }
}

TEST_F(AccountsTest, PasswordsThatAreTooShortTooLongOrNoTextAreRefused) {
  for (const std::string& password : {std::string("short"), std::string(2000, 'x'),
                                      std::string("\xff\xfe at least ten"), std::string(12, '\0')})
    EXPECT_THAT(error_of([&] { accounts_.set_password("ann", password); }), HasSubstr("password"));
}

TEST_F(AccountsTest, TemplatesAreSeenByThoseWhoseTheyAre) {
  accounts_.put_template({Scope::own, "ann", "mine", {{"nodes", 2}}, "ann", kNow});
  accounts_.put_template({Scope::team, "vision", "ours", Json::object(), "ann", kNow});
  accounts_.put_template({Scope::all, "", "everybody's", Json::object(), "root", kNow});
  const auto names = [&](const std::string& user, const std::vector<std::string>& teams) {
    std::vector<std::string> out;
    for (const Template& one : accounts_.templates(user, teams)) out.push_back(one.name);
    return out;
  };
  EXPECT_THAT(names("ann", {"vision"}), ElementsAre("mine", "ours", "everybody's"));
  EXPECT_THAT(names("root", {}), ElementsAre("everybody's"));
  EXPECT_TRUE(accounts_.remove_template(Scope::own, "ann", "mine"));
  EXPECT_FALSE(accounts_.remove_template(Scope::own, "ann", "mine"));
}

TEST_F(AccountsTest, DeedsComeTheLatestFirst) {
  for (int i = 0; i < 5; ++i)
    accounts_.record({.at_ns = kNow + i, .who = "ann", .deed = "stop_job", .status = 200});
  const auto latest = accounts_.deeds(0, 2);
  ASSERT_EQ(latest.size(), 2U);
  EXPECT_EQ(latest[0].at_ns, kNow + 4);
  const auto before = accounts_.deeds(latest[1].number, 100);
  ASSERT_EQ(before.size(), 3U);
  EXPECT_EQ(before[0].at_ns, kNow + 2);
}

TEST_F(AccountsTest, ACopyIsAWholeDatabase) {
  accounts_.set_password("ann", "correct horse battery");
  accounts_.copy_to(folder_.path() / "copy.db");
  Accounts copy(folder_.path() / "copy.db");
  EXPECT_TRUE(copy.sign_in("ann", "correct horse battery", kNow));
}

TEST_F(AccountsTest, NamesThatDifferInCaseAloneAreOne) {
  accounts_.put({.name = "dora"}, 1);
  EXPECT_THAT(error_of([&] { accounts_.put({.name = "Dora"}, 1); }),
              HasSubstr("there is a user 'dora' already"));
  accounts_.put({.name = "dora", .full_name = "Dora"}, 1);
  accounts_.remove("dora");
  EXPECT_THAT(error_of([&] { accounts_.put({.name = "DORA"}, 1); }), HasSubstr("was somebody's"));
}

}  // namespace
}  // namespace assay::accounts
