// The working folder of a job, sent by content.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "e2e/platform/platform_test.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CodeUpload : public PlatformTest {
 protected:
  void SetUp() override {
    PlatformTest::SetUp();
    fs::create_directories(folder_ / "code/lib");
    (void)write("code/run.sh", "#!/bin/sh\ncat lib/words; cat link; pwd\n");
    ASSERT_EQ(::chmod((folder_ / "code/run.sh").c_str(), 0755), 0);
    (void)write("code/lib/words", "first words\n");
    (void)write("code/.env", "TOKEN=secret\n");
    ASSERT_EQ(::symlink("lib/words", (folder_ / "code/link").c_str()), 0);
  }
  CommandResult submit_code(const std::string& command, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"submit", "--command", command, "--code", "code", "--follow"};
    words.insert(words.end(), more.begin(), more.end());
    return assay(std::move(words), std::chrono::seconds(150));
  }
};

TEST_F(CodeUpload, AJobRunsWhatWasSentAndTheSecondTimeOnlyTheChangeIsSent) {
  const CommandResult first = submit_code("./run.sh");
  EXPECT_EQ(first.status.code, 0) << first.out << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("Code: 2 files"), HasSubstr("Sent 2 files"),
                               HasSubstr("first words")));
  EXPECT_THAT(first.err, HasSubstr(".env"));

  EXPECT_THAT(submit_code("./run.sh").out, HasSubstr("The server has all of it already."));

  (void)write("code/lib/words", "other words\n");
  const CommandResult third = submit_code("./run.sh");
  EXPECT_THAT(third.out, AllOf(HasSubstr("Sent 1 file, "), HasSubstr("other words"),
                               Not(HasSubstr("first words"))));
}

TEST_F(CodeUpload, AJobThatChangesItsFolderChangesNobodyElses) {
  EXPECT_EQ(submit_code("chmod -R u+w . && echo evil > lib/words && rm run.sh").status.code, 0);
  const CommandResult second = submit_code("./run.sh");
  EXPECT_THAT(second.out, AllOf(HasSubstr("has all of it"), HasSubstr("first words")))
      << second.err;
}

TEST_F(CodeUpload, ALinkThatLeadsOutIsRefused) {
  ASSERT_EQ(::symlink("/etc/passwd", (folder_ / "code/passwords").c_str()), 0);
  const CommandResult result = submit_code("./run.sh");
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("passwords → /etc/passwd"));
}

}  // namespace
}  // namespace assay::e2e
