#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "accounts/account_store.h"
#include "accounts/accounts.h"
#include "accounts/sealed_text.h"
#include "core/files.h"
#include "database/migrate.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::accounts {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kValue = "hunter2-and-more";

class SecretsTest : public ::testing::Test {
 protected:
  SecretsTest() {
    accounts_.put({.name = "root", .role = jobs::Role::admin}, 1);
    for (const char* name : {"ann", "bob", "eve"}) accounts_.put({.name = name}, 1);
    accounts_.set_members("vision", {"ann", "bob"});
  }
  void keep(Scope scope, const std::string& of, const std::string& name,
            const std::string& value = kValue) {
    accounts_.put_secret({.scope = scope, .of = of, .name = name, .author = "ann"}, value);
  }
  std::string refusal_of(const std::string& user, const std::string& name = "hf",
                         const std::string& team = "vision") {
    return error_of([&] { (void)accounts_.secret_for(user, team, name); });
  }
  std::vector<std::string> names(const std::string& user, const std::vector<std::string>& teams) {
    std::vector<std::string> out;
    for (const Secret& one : accounts_.secrets(user, teams)) out.push_back(one.name);
    return out;
  }
  [[nodiscard]] fs::path key() const { return folder_.path() / kSecretsKey; }

  testing::TemporaryFolder folder_;
  Accounts accounts_{folder_.path() / "accounts.db"};
};

TEST_F(SecretsTest, AJobOfItsOwnerGetsTheValueAsItWasGiven) {
  const std::string value = "-----BEGIN KEY-----\nüñ\t'\"$(x)\n\n-----END KEY-----\n";
  keep(Scope::own, "ann", "deploy-key", value);
  EXPECT_EQ(accounts_.secret_for("ann", "", "deploy-key"), value);
  Accounts again(folder_.path() / "accounts.db");
  EXPECT_EQ(again.secret_for("ann", "", "deploy-key"), value);
}

TEST_F(SecretsTest, AnotherValueTakesThePlaceOfTheFirst) {
  keep(Scope::own, "ann", "hf", "first");
  keep(Scope::own, "ann", "hf", "second");
  EXPECT_EQ(accounts_.secret_for("ann", "", "hf"), "second");
  EXPECT_THAT(names("ann", {}), ElementsAre("hf"));
}

TEST_F(SecretsTest, AreTheirOwnersAndTheirTeamsAlone) {
  keep(Scope::own, "ann", "hf", "ann's");
  keep(Scope::team, "vision", "hf", "vision's");
  EXPECT_EQ(accounts_.secret_for("ann", "vision", "hf"), "ann's") << "the own one first";
  EXPECT_EQ(accounts_.secret_for("bob", "vision", "hf"), "vision's");
  EXPECT_THAT(refusal_of("bob", "hf", ""), HasSubstr("you keep no secret 'hf'"));
  EXPECT_THAT(refusal_of("eve"), HasSubstr("neither you nor the team 'vision'"));
  EXPECT_THAT(refusal_of("root"), HasSubstr("neither you nor the team 'vision'"))
      << "administrators are no exception";
  accounts_.set_members("vision", {"ann"});
  EXPECT_THAT(refusal_of("bob"), HasSubstr("neither you nor the team 'vision'"));
  EXPECT_THAT(names("ann", {"vision"}), ElementsAre("hf", "hf"));
  EXPECT_THAT(names("bob", {}), IsEmpty());
}

TEST_F(SecretsTest, AreOnTheDiskEncryptedOnly) {
  keep(Scope::own, "ann", "hf");
  keep(Scope::own, "ann", "hf", std::string(kValue) + "2");
  for (const auto& file : fs::directory_iterator(folder_.path()))
    EXPECT_THAT(read_file(file.path()), Not(HasSubstr("hunter2"))) << file.path();
  struct stat about {};
  ASSERT_EQ(::stat(key().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
}

TEST_F(SecretsTest, NoValueWorksInAnothersPlace) {
  keep(Scope::own, "ann", "hf");
  database::Database database(folder_.path() / "accounts.db");
  database.prepare("UPDATE secrets SET owner = 'eve'").run();
  EXPECT_THAT(refusal_of("eve"), HasSubstr("cannot be decrypted"));
  database.prepare("UPDATE secrets SET sealed = '00'").run();
  EXPECT_THAT(refusal_of("eve"), HasSubstr("cannot be decrypted"));
}

TEST_F(SecretsTest, WithoutTheirKeyTheyAreListedAndCanBeGivenAnew) {
  keep(Scope::own, "ann", "hf");
  fs::remove(key());
  EXPECT_THAT(refusal_of("ann"), HasSubstr("the key that it was kept with is not there"));
  ASSERT_EQ(accounts_.secrets("ann", {}).size(), 1U);
  EXPECT_FALSE(accounts_.secrets("ann", {}).front().usable);
  keep(Scope::own, "ann", "hf", "anew");
  EXPECT_EQ(accounts_.secret_for("ann", "", "hf"), "anew");
  EXPECT_TRUE(accounts_.secrets("ann", {}).front().usable);
}

TEST_F(SecretsTest, AKeyThatOthersCanReadIsNotUsed) {
  keep(Scope::own, "ann", "hf");
  fs::permissions(key(), fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(refusal_of("ann"), HasSubstr("others can read the key"));
  EXPECT_FALSE(accounts_.secrets("ann", {}).front().usable);
  EXPECT_THAT(error_of([&] { keep(Scope::own, "ann", "other"); }), HasSubstr("others can read"));
}

TEST_F(SecretsTest, AKeyThatIsDamagedIsSaidAndNotReplaced) {
  keep(Scope::own, "ann", "hf");
  write_file_atomic(key(), "nonsense\n");
  fs::permissions(key(), fs::perms::owner_read);
  EXPECT_THAT(refusal_of("ann"), HasSubstr("the key of the secrets is damaged"));
  EXPECT_THAT(error_of([&] { keep(Scope::own, "ann", "hf"); }), HasSubstr("is damaged"));
}

TEST_F(SecretsTest, NamesThatHideOrBreakSomethingAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("../x"), std::string("a/b"), std::string("<b>"),
        std::string("a b"), std::string("a=b"), std::string("a\nb"), std::string("\u202Ehf"),
        std::string(10'000, 'x'), std::string("a\0b", 3)})
    EXPECT_THAT(error_of([&] { keep(Scope::own, "ann", name); }),
                HasSubstr("not a valid name of a secret"))
        << name;
  EXPECT_THAT(names("ann", {}), IsEmpty());
}

TEST_F(SecretsTest, ValuesThatNoVariableHoldsAreRefused) {
  const auto said = [&](const std::string& value) {
    return error_of([&] { keep(Scope::own, "ann", "hf", value); });
  };
  EXPECT_THAT(said(""), HasSubstr("is empty"));
  EXPECT_THAT(said(std::string(1U << 20, 'x')), HasSubstr("at most 32 KiB; this one has 1048576"));
  EXPECT_THAT(said(std::string("a\0b", 3)), HasSubstr("UTF-8 text"));
  EXPECT_THAT(said("\xff\xfe"), HasSubstr("UTF-8 text"));
  EXPECT_NO_THROW(keep(Scope::own, "ann", "hf", std::string(kMaxSecretValue, 'x')));
}

TEST_F(SecretsTest, GoWithTheirOwnerAndTheirTeam) {
  keep(Scope::own, "ann", "hf");
  keep(Scope::team, "vision", "hf");
  accounts_.remove("ann");
  EXPECT_THAT(names("ann", {}), IsEmpty());
  EXPECT_THAT(names("", {"vision"}), ElementsAre("hf"));
  accounts_.forget_team("vision");
  accounts_.set_members("vision", {"eve"});
  EXPECT_THAT(names("eve", {"vision"}), IsEmpty()) << "another team of that name";
}

TEST_F(SecretsTest, NobodyKeepsAnyNumberOfThem) {
  for (int i = 0; i < kMaxSecrets; ++i) keep(Scope::own, "ann", "s" + std::to_string(i));
  EXPECT_THAT(error_of([&] { keep(Scope::own, "ann", "more"); }), HasSubstr("too many secrets"));
  keep(Scope::own, "ann", "s0", "another value");
  keep(Scope::own, "bob", "first");
}

TEST_F(SecretsTest, ACopyOfTheDatabaseAloneDoesNotTellThem) {
  keep(Scope::own, "ann", "hf");
  fs::create_directory(folder_.path() / "backup");
  accounts_.copy_to(folder_.path() / "backup/accounts.db");
  Accounts copy(folder_.path() / "backup/accounts.db");
  EXPECT_FALSE(copy.secrets("ann", {}).front().usable);
  EXPECT_THAT(error_of([&] { (void)copy.secret_for("ann", "", "hf"); }),
              HasSubstr("cannot be decrypted"));
  fs::copy_file(key(), folder_.path() / "backup" / kSecretsKey);
  EXPECT_EQ(copy.secret_for("ann", "", "hf"), kValue);
}

// A database of every earlier version becomes one of this.
TEST(SecretsMigration, AnEarlierDatabaseKeepsItsPeopleAndTakesSecrets) {
  for (std::size_t version = 1; version < kAccountSchema.size(); ++version) {
    const testing::TemporaryFolder folder;
    const fs::path file = folder.path() / "accounts.db";
    {
      database::Database earlier(file);
      database::migrate(earlier, std::span(kAccountSchema).first(version));
      earlier
          .prepare(
              "INSERT INTO people (name, full_name, role, disabled, language, made_ns)"
              " VALUES ('ann', 'Ann', 'member', 0, '', 1)")
          .run();
    }
    Accounts accounts(file);
    ASSERT_TRUE(accounts.find("ann")) << version;
    accounts.put_secret({.of = "ann", .name = "hf", .author = "ann"}, kValue);
    EXPECT_EQ(accounts.secret_for("ann", "", "hf"), kValue) << version;
  }
}

TEST(SealedText, IsAnotherEachTimeAndOpensWithItsKeyAndPlaceOnly) {
  const std::string key(64, 'a');
  const std::string sealed = seal(key, "text", "place");
  EXPECT_NE(sealed, seal(key, "text", "place"));
  EXPECT_EQ(open_sealed(key, sealed, "place"), "text");
  EXPECT_FALSE(open_sealed(std::string(64, 'b'), sealed, "place"));
  EXPECT_FALSE(open_sealed(key, sealed, "elsewhere"));
  std::string changed = sealed;
  changed.back() = changed.back() == '0' ? '1' : '0';
  EXPECT_FALSE(open_sealed(key, changed, "place"));
  for (const char* broken : {"", "zz", "abc"}) EXPECT_FALSE(open_sealed(key, broken, "place"));
}

}  // namespace
}  // namespace assay::accounts
