#include <gtest/gtest.h>

#include "code/ignore_rules.h"

namespace assay::code {
namespace {

bool ignored(const char* rules, const char* path, bool is_folder = false) {
  IgnoreRules all;
  all.add(rules);
  return all.ignores(path, is_folder);
}

// What `git check-ignore` says to the same.
TEST(IgnoreRules, ANameFitsAtAnyDepth) {
  EXPECT_TRUE(ignored("*.log", "a.log"));
  EXPECT_TRUE(ignored("*.log", "x/y/a.log"));
  EXPECT_FALSE(ignored("*.log", "a.log.txt"));
  EXPECT_TRUE(ignored("data", "x/data", true));
}

TEST(IgnoreRules, ASlashBindsToTheFolder) {
  EXPECT_TRUE(ignored("/data", "data"));
  EXPECT_FALSE(ignored("/data", "x/data"));
  EXPECT_TRUE(ignored("a/b.txt", "a/b.txt"));
  EXPECT_FALSE(ignored("a/b.txt", "x/a/b.txt"));
  EXPECT_FALSE(ignored("a/*.txt", "a/b/c.txt"));
}

TEST(IgnoreRules, ASlashAtTheEndMeansFolders) {
  EXPECT_TRUE(ignored("out/", "out", true));
  EXPECT_TRUE(ignored("out/", "x/out", true));
  EXPECT_FALSE(ignored("out/", "out", false));
}

TEST(IgnoreRules, TwoStarsCrossFolders) {
  EXPECT_TRUE(ignored("**/tmp", "a/b/tmp"));
  EXPECT_TRUE(ignored("**/tmp", "tmp"));
  EXPECT_TRUE(ignored("a/**/z", "a/z"));
  EXPECT_TRUE(ignored("a/**/z", "a/b/c/z"));
  EXPECT_FALSE(ignored("a/**/z", "b/z"));
  EXPECT_TRUE(ignored("a/**", "a/b/c"));
  EXPECT_FALSE(ignored("a/**", "a", true));
}

TEST(IgnoreRules, TheLastRuleCounts) {
  EXPECT_FALSE(ignored("*.bin\n!keep.bin", "keep.bin"));
  EXPECT_TRUE(ignored("*.bin\n!keep.bin", "other.bin"));
  EXPECT_TRUE(ignored("!keep.bin\n*.bin", "keep.bin"));
}

TEST(IgnoreRules, CommentsBlanksAndEscapes) {
  EXPECT_FALSE(ignored("# a\n\n   \n", "# a"));
  EXPECT_TRUE(ignored("\\#a", "#a"));
  EXPECT_TRUE(ignored("\\!a", "!a"));
  EXPECT_TRUE(ignored("a   ", "a"));
  EXPECT_TRUE(ignored("a\\ ", "a "));
  EXPECT_TRUE(ignored("a\r\nb\r\n", "b"));
  EXPECT_TRUE(ignored("[a-c]?.txt", "b1.txt"));
  EXPECT_FALSE(ignored("/", "a"));
}

TEST(LooksSecret, KeysTokensAndEnvironments) {
  for (const char* path : {".env", ".env.production", "deploy/id_rsa", "a.pem", "x/tls.key",
                           "hf_token", "admin.token", "credentials.json", ".ssh/config", "ID_RSA"})
    EXPECT_TRUE(looks_secret(path)) << path;
  for (const char* path : {"train.py", ".env.example", "tokenizer.json", "tokens.py", "keys.cpp",
                           "environment.yml", "id_rsa.md", "monkey.txt"})
    EXPECT_FALSE(looks_secret(path)) << path;
}

TEST(LooksSecret, APrivateKeyByItsFirstLine) {
  EXPECT_TRUE(begins_like_a_key("-----BEGIN OPENSSH PRIVATE KEY-----\nabc"));
  EXPECT_TRUE(begins_like_a_key("\n-----BEGIN RSA PRIVATE KEY-----"));
  EXPECT_FALSE(begins_like_a_key("-----BEGIN CERTIFICATE-----"));
  EXPECT_FALSE(begins_like_a_key("KEY = '-----BEGIN RSA PRIVATE KEY-----'"));
}

}  // namespace
}  // namespace assay::code
