#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/files.h"
#include "error_of.h"
#include "evidence/key_store.h"
#include "temporary_folder.h"

namespace assay::evidence {
namespace {

using assay::testing::TemporaryFolder;
namespace fs = std::filesystem;

// RFC 8032, 7.1, test 2.
constexpr std::string_view kRfcPem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
    "-----END PRIVATE KEY-----\n";

TEST(SigningKey, SignsAsRfc8032Says) {
  const SigningKey key = SigningKey::from_pem(kRfcPem, "here");
  EXPECT_EQ(key.public_key(), "ed25519:PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=");
  const std::string signature = key.sign("\x72");
  EXPECT_EQ(to_hex(*from_base64(signature)),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(is_signed_by(key.public_key(), "\x72", signature));
}

TEST(SigningKey, GoesThroughItsText) {
  const SigningKey key = SigningKey::generate();
  EXPECT_EQ(SigningKey::from_pem(key.to_pem(), "here").public_key(), key.public_key());
  EXPECT_NE(SigningKey::generate().public_key(), key.public_key());
}

TEST(SigningKey, RefusesTextThatIsNoKey) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("hello"), kRfcPem.substr(0, 60)})
    EXPECT_THROW((void)SigningKey::from_pem(text, "here"), Error) << text;
}

TEST(IsSignedBy, IsFalseForOtherBytesKeysAndSignatures) {
  const SigningKey key = SigningKey::generate();
  const std::string signature = key.sign("data");
  EXPECT_TRUE(is_signed_by(key.public_key(), "data", signature));
  EXPECT_FALSE(is_signed_by(key.public_key(), "datb", signature));
  EXPECT_FALSE(is_signed_by(key.public_key(), "", signature));
  EXPECT_FALSE(is_signed_by(SigningKey::generate().public_key(), "data", signature));
  EXPECT_FALSE(is_signed_by("", "data", signature));
  EXPECT_FALSE(is_signed_by("ed25519:AAAA", "data", signature));
  EXPECT_FALSE(is_signed_by(key.public_key(), "data", ""));
  EXPECT_FALSE(is_signed_by(key.public_key(), "data", signature + "===="));
  EXPECT_FALSE(is_signed_by(key.public_key(), "data", key.sign("data2")));
}

TEST(Fingerprint, IsTheHashOfTheKeysBytes) {
  const SigningKey key = SigningKey::from_pem(kRfcPem, "here");
  std::string expected = to_base64(digest(Hash::sha256, *from_base64(key.public_key().substr(8))));
  EXPECT_EQ(expected.back(), '=');
  expected.pop_back();
  EXPECT_EQ(fingerprint(key.public_key()), "SHA256:" + expected);
  EXPECT_EQ(fingerprint("ssh-ed25519 AAAA"), "");
}

TEST(FromBase64, TakesOneTextForOneMeaning) {
  for (const std::string_view bytes : {"", "a", "ab", "abc", "abcd"})
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  for (const std::string_view text :
       {"a", "YQ=", "YR==", "YQ==\n", " YQ==", "Y===", "====", "YQ==YQ=="})
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

TEST(KeyStore, MakesTheUsersKeyAtTheFirstUse) {
  const TemporaryFolder folder;
  const KeyStore store(folder.path() / "config" / "assay" / "keys");
  EXPECT_FALSE(store.own());
  const std::string made = store.own_or_new().public_key();
  EXPECT_EQ(store.own_or_new().public_key(), made);
  struct stat info {};
  ASSERT_EQ(::stat((store.folder() / "own.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(store.folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  EXPECT_EQ(std::distance(fs::directory_iterator(store.folder()), fs::directory_iterator()), 1);
}

TEST(KeyStore, OfTheUserIsWhereTheEnvironmentSays) {
  const auto folder = [](const char* keys, const char* config, const char* home) {
    for (const auto& [name, value] :
         {std::pair{"ASSAY_KEYS", keys}, {"XDG_CONFIG_HOME", config}, {"HOME", home}})
      value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
    return KeyStore::of_user().folder().string();
  };
  EXPECT_EQ(folder("/k", "/c", "/h"), "/k");
  EXPECT_EQ(folder(nullptr, "/c", "/h"), "/c/assay/keys");
  EXPECT_EQ(folder("", "", "/h"), "/h/.config/assay/keys");
  EXPECT_EQ(folder(nullptr, "relative", "/h"), "/h/.config/assay/keys");
  EXPECT_THROW(folder(nullptr, nullptr, nullptr), Error);
}

TEST(KeyStore, GivesAllWhoMakeAKeyAtOnceTheSame) {
  const TemporaryFolder folder;
  const KeyStore store(folder.path() / "keys");
  std::vector<std::string> made(16);
  std::vector<std::thread> threads;
  for (std::string& key : made)
    threads.emplace_back([&] { key = store.own_or_new().public_key(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(made, ::testing::Each(store.own()->public_key()));
}

TEST(KeyStore, UsesNoKeyThatOthersMayRead) {
  const TemporaryFolder folder;
  const KeyStore store(folder.path());
  (void)store.own_or_new();
  ::chmod((folder.path() / "own.key").c_str(), 0640);
  EXPECT_THROW((void)store.own(), Error);
}

TEST(KeyStore, SaysWhereADamagedKeyIs) {
  const TemporaryFolder folder;
  const auto file = folder.write("own.key", "-----BEGIN nothing");
  ::chmod(file.c_str(), 0600);
  try {
    (void)KeyStore(folder.path()).own_or_new();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), file.string());
  }
}

TEST(KeyStore, KeepsTheOldKeyWhenANewOneIsMade) {
  const TemporaryFolder folder;
  const KeyStore store(folder.path());
  const std::string first = store.replace_own().public_key();
  const std::string old = read_file(folder.path() / "own.key");
  const std::string second = store.replace_own().public_key();
  const std::string third = store.replace_own().public_key();
  EXPECT_EQ(store.own()->public_key(), third);
  EXPECT_NE(first, second);
  int kept = 0;
  bool found = false;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (!entry.path().filename().string().starts_with("old-")) continue;
    ++kept;
    found = found || read_file(entry.path()) == old;
  }
  EXPECT_EQ(kept, 2);
  EXPECT_TRUE(found);
}

TEST(KeyStore, TrustsAndDistrustsByName) {
  const TemporaryFolder folder;
  const KeyStore store(folder.path() / "keys");
  EXPECT_TRUE(store.trusted().empty());
  const std::string key = SigningKey::generate().public_key();
  const std::string other = SigningKey::generate().public_key();
  store.trust("lab-1", key);
  store.trust("vendor@x", other);
  EXPECT_EQ(store.trusted(),
            (std::map<std::string, std::string>{{"lab-1", key}, {"vendor@x", other}}));
  EXPECT_EQ(store.name_of(other), "vendor@x");
  store.trust("vendor@x", key);
  EXPECT_EQ(store.name_of(other), "");
  EXPECT_TRUE(store.distrust("lab-1"));
  EXPECT_FALSE(store.distrust("lab-1"));
  EXPECT_EQ(store.trusted().size(), 1U);
}

TEST(KeyStore, RefusesNamesAndKeysThatAreNone) {
  const TemporaryFolder folder;
  const KeyStore store(folder.path());
  const std::string key = SigningKey::generate().public_key();
  for (const char* name : {"", ".hidden", "-x", "a/b", "..", "a b", "ä"})
    EXPECT_THROW(store.trust(name, key), Error) << name;
  EXPECT_THROW(store.trust("x", "ed25519:x"), Error);
  folder.write("trusted/broken.pub", "nothing\n");
  EXPECT_TRUE(store.trusted().empty());
}

TEST(KeyStore, TrustIsTheUsersOwnThenTheUsersThenTheSites) {
  const TemporaryFolder folder;
  ::setenv("ASSAY_KEYS", (folder.path() / "keys").c_str(), 1);
  ::setenv("ASSAY_SITE_KEYS", (folder.path() / "site").c_str(), 1);
  const std::string other = SigningKey::generate().public_key();
  EXPECT_EQ(trust_of(other).name, "");
  EXPECT_EQ(trust_of("").name, "");
  EXPECT_EQ(signer_text(fingerprint(other), trust_of(other)),
            fingerprint(other) + ", a key that is not trusted here");
  KeyStore::of_site().trust("lab", other);
  EXPECT_EQ(signer_text("SHA256:x", trust_of(other)),
            "lab, whose key is trusted by this site (SHA256:x)");
  KeyStore::of_user().trust("friend", other);
  EXPECT_EQ(trust_of(other).name, "friend");
  EXPECT_EQ(trust_of(other).by, "you");
  const KeyStore mine = KeyStore::of_user();
  const std::string own = mine.own_or_new().public_key();
  EXPECT_EQ(trust_of(own).name, "yourself");
  mine.name_own("alice");
  EXPECT_EQ(trust_of(own).name, "alice");
  EXPECT_THROW(mine.name_own("../up"), Error);
  EXPECT_EQ(signer_text("", {}), "nobody");
  ::unsetenv("ASSAY_SITE_KEYS");
  EXPECT_EQ(KeyStore::of_site().folder(), "/etc/assay/keys");
}

}  // namespace
}  // namespace assay::evidence
