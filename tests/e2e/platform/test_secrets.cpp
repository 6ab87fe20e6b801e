// Secrets that jobs are given by name, with a real server and the commands of docs/platform.md.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chinese_text.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/sha256.h"
#include "e2e/platform/platform_test.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kValue = "hunter2 and\n\"more\" $HOME";

class SecretCommands : public PlatformTest {
 protected:
  [[nodiscard]] fs::path value_file(const std::string& value = kValue) const {
    return write("value", value + "\n");
  }
  void keep(const std::string& name, const std::string& value = kValue) {
    const CommandResult result =
        assay({"secret", "set", name, "--file", value_file(value).string()});
    EXPECT_EQ(result.status.code, 0) << result.err;
    EXPECT_THAT(result.out + result.err, Not(HasSubstr("hunter2")));
    fs::remove(folder_ / "value");
  }
  /// Files of the server, and all that the test's folder has besides.
  void expect_nowhere() const {
    for (const auto& file : fs::recursive_directory_iterator(folder_))
      if (fs::is_regular_file(file.symlink_status())) {
        EXPECT_THAT(read_file_or_empty(file.path()), Not(HasSubstr("hunter2"))) << file.path();
      }
  }
};

TEST_F(SecretCommands, AJobGetsTheValueAndNothingElseHasIt) {
  keep("hf", "first");
  keep("hf");
  EXPECT_THAT(assay({"secret", "list"}).out, AllOf(HasSubstr("hf"), HasSubstr("admin")));
  const CommandResult followed =
      assay({"submit", "--command", "printf %s \"$HF_TOKEN\" | sha256sum", "--secret",
             "hf=HF_TOKEN", "--no-code", "--follow"},
            std::chrono::seconds(150));
  EXPECT_EQ(followed.status.code, 0) << followed.err;
  EXPECT_THAT(followed.out, HasSubstr("HF_TOKEN=(secret hf)"));
  EXPECT_THAT(assay({"job", "1", "--logs"}).out, HasSubstr(sha256(kValue)));
  EXPECT_THAT(assay({"job", "1", "--command"}).out, HasSubstr("--secret hf=HF_TOKEN"));
  EXPECT_THAT(assay({"job", "1", "--curl"}).out, HasSubstr("\"secrets\":{\"HF_TOKEN\":\"hf\"}"));
  const CommandResult backup = assay({"serve", "backup", (folder_ / "backup").string()});
  ASSERT_EQ(backup.status.code, 0) << backup.err;
  EXPECT_THAT(backup.out, HasSubstr("The key of secrets is not in it"));
  EXPECT_FALSE(fs::exists(folder_ / "backup/secrets.key"));
  expect_nowhere();
}

TEST_F(SecretCommands, AJobWhoseSecretIsGoneSaysSoWhenItIsSubmittedAndWhenItStarts) {
  const CommandResult refused =
      assay({"submit", "--command", "true", "--secret", "HF", "--no-code"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--secret"), HasSubstr("you keep no secret 'HF'")));
  keep("HF");
  const long before = submit({"--command", "sleep 600", "--whole-nodes", "--name", "before"});
  ASSERT_TRUE(becomes(before, "running"));
  const long next = submit({"--command", "true", "--secret", "HF"});
  EXPECT_EQ(state(next), "queued");
  EXPECT_EQ(assay({"secret", "rm", "HF"}).status.code, 0);
  EXPECT_EQ(assay({"cancel", std::to_string(before)}).status.code, 0);
  EXPECT_TRUE(becomes(next, "error"));
  EXPECT_THAT(assay({"job", std::to_string(next)}).out, HasSubstr("you keep no secret 'HF'"));
}

TEST_F(SecretCommands, AValueIsNeverAnArgument) {
  const CommandResult wrong = assay({"secret", "set", "HF=hunter2"});
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("never an argument"), Not(HasSubstr("hunter2"))));
  EXPECT_EQ(assay({"secret", "set", "HF"}).status.code, 2) << "an empty standard input";
  EXPECT_THAT(
      assay({"secret", "set", "HF", "--file", value_file(std::string(1U << 20, 'x')).string()}).err,
      HasSubstr("at most 32 KiB"));
  for (const char* name : {"<b>", "../x", "a b"})
    EXPECT_EQ(assay({"secret", "set", name, "--file", value_file().string()}).status.code, 2)
        << name;
  EXPECT_EQ(assay({"secret", "list"}).out, "No secrets. 'assay secret set NAME' keeps one.\n");
}

TEST_F(SecretCommands, AreUsedAfterARestartOfTheServer) {
  keep("HF");
  kill_server();
  start_server();
  const long id = submit({"--command", "printf %s \"$HF\" | sha256sum", "--secret", "HF"});
  EXPECT_TRUE(becomes(id, "finished"));
  EXPECT_THAT(assay({"job", std::to_string(id), "--logs"}).out, HasSubstr(sha256(kValue)));
  // A restored backup does not have the key; whoever has kept it puts it back.
  const fs::path key = folder_ / "tester/secrets.key";
  const std::string kept = read_file(key);
  fs::remove(key);
  EXPECT_THAT(assay({"secret", "list"}).out, HasSubstr("cannot be decrypted"));
  const CommandResult refused =
      assay({"submit", "--command", "true", "--secret", "HF", "--no-code"});
  EXPECT_THAT(refused.err, HasSubstr("the key that it was kept with is not there"));
  write_file_atomic(key, kept);
  fs::permissions(key, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(assay({"secret", "list"}).out, Not(HasSubstr("cannot be decrypted")));
}

TEST_F(SecretCommands, SpeakChinese) {
  keep("HF");
  const std::set<std::string> names{"HF", "admin", "assay", "submit", "secret", "set", "NAME"};
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"secret", "list", "--lang", "zh"},
        std::vector<std::string>{"secret", "rm", "HF", "--lang", "zh"},
        std::vector<std::string>{"secret", "list", "--lang", "zh"},
        std::vector<std::string>{"secret", "set", "HF=x", "--lang", "zh"}}) {
    const CommandResult result = assay(words);
    EXPECT_THAT(testing::english_in(result.out + result.err, names), ::testing::IsEmpty())
        << result.out << result.err;
  }
}

}  // namespace
}  // namespace assay::e2e
