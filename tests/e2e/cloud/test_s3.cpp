// Programs that others wrote: s3cmd speaks to the emulator, which checks its signatures, and Assay
// speaks to s3rver, which does not.

#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "cloud/sync.h"
#include "core/files.h"
#include "core/process.h"
#include "core/subprocess.h"
#include "e2e/cloud/emulator_process.h"
#include "eventually.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::cloud {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// s3cmd with either of AWS's signatures.
class S3Cmd : public EmulatorTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (!find_program("s3cmd")) GTEST_SKIP() << needs::package("s3cmd");
  }
  CommandResult s3cmd(std::vector<std::string> args) {
    std::vector<std::string> all{"s3cmd",
                                 "--config=/dev/null",
                                 "--access_key=" + access_key_,
                                 "--secret_key=" + secret_key_,
                                 "--host=" + host(),
                                 "--host-bucket=" + host(),
                                 "--no-ssl",
                                 "--no-progress"};
    if (std::string(GetParam()) == "v2") all.emplace_back("--signature-v2");
    all.insert(all.end(), args.begin(), args.end());
    CommandOptions limit;
    limit.timeout = std::chrono::seconds(60);
    return run_command(all, limit);
  }
};

TEST_P(S3Cmd, ListsBucketsAndMakesAndRemovesOne) {
  EXPECT_THAT(s3cmd({"ls"}).out, HasSubstr("s3://bucket-one"));
  const CommandResult made = s3cmd({"mb", "s3://bucket-two"});
  EXPECT_TRUE(made.status.ok()) << made.out << made.err;
  EXPECT_THAT(s3cmd({"ls"}).out, HasSubstr("s3://bucket-two"));
  EXPECT_TRUE(s3cmd({"rb", "s3://bucket-two"}).status.ok());
  EXPECT_THAT(s3cmd({"ls"}).out, Not(HasSubstr("s3://bucket-two")));
}

TEST_P(S3Cmd, PutsListsGetsAndDeletes) {
  const std::string file = make_file("a b+c.bin", 300'000);
  const CommandResult put = s3cmd({"put", file, "s3://bucket-one/a b/c+d.bin"});
  ASSERT_TRUE(put.status.ok()) << put.out << put.err;
  EXPECT_THAT(s3cmd({"ls", "s3://bucket-one/a b/"}).out, HasSubstr("s3://bucket-one/a b/c+d.bin"));
  EXPECT_TRUE(bucket().head("a b/c+d.bin"));
  const std::string back = (folder_ / "back").string();
  const CommandResult get = s3cmd({"get", "s3://bucket-one/a b/c+d.bin", back});
  ASSERT_TRUE(get.status.ok()) << get.out << get.err;
  EXPECT_EQ(read_file(back), read_file(file));
  const CommandResult info = s3cmd({"info", "s3://bucket-one/a b/c+d.bin"});
  EXPECT_TRUE(info.status.ok()) << info.out << info.err;
  EXPECT_THAT(info.out, AllOf(HasSubstr("Last mod:"), HasSubstr("FULL_CONTROL")));
  bucket().put("a b/second", "2");
  const CommandResult removed = s3cmd({"del", "--recursive", "s3://bucket-one/a b/"});  // ?delete
  EXPECT_TRUE(removed.status.ok()) << removed.out << removed.err;
  EXPECT_TRUE(bucket().list("a b/").empty());
}

TEST_P(S3Cmd, SendsInParts) {
  const std::string file = make_file("large.bin", 11 << 20);
  const CommandResult put =
      s3cmd({"put", "--multipart-chunk-size-mb=5", file, "s3://bucket-one/large.bin"});
  ASSERT_TRUE(put.status.ok()) << put.out << put.err;
  EXPECT_EQ(bucket().head("large.bin")->size, 11U << 20);
}

TEST_P(S3Cmd, IsRefusedWithAWrongSecret) {
  const CommandResult refused = s3cmd({"--secret_key=wrong", "ls"});
  EXPECT_FALSE(refused.status.ok());
  EXPECT_THAT(refused.err, HasSubstr("SignatureDoesNotMatch"));
}

INSTANTIATE_TEST_SUITE_P(Signatures, S3Cmd, ::testing::Values("v4", "v2"));

/// s3rver of npm, where ASSAY_S3RVER or the PATH has it.
class S3rver : public EmulatorTest {
 protected:
  void SetUp() override {
    const char* given = std::getenv("ASSAY_S3RVER");
    const auto program = find_program(given != nullptr ? given : "s3rver");
    if (!program) GTEST_SKIP() << needs::system("s3rver of npm, or ASSAY_S3RVER with its path");
    for (int tries = 0; tries < 20 && pid_ < 0; ++tries) start_server(*program, tries);
    ASSERT_GT(pid_, 0) << read_file_or_empty(folder_ / "s3rver.log");
  }
  void TearDown() override {
    if (pid_ <= 0) return;
    send_signal(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  ObsBucket store() {
    own_ = std::make_unique<FixedCredentials>(Credentials{"S3RVER", "S3RVER", ""});
    ObsOptions options;
    options.endpoint = fmt::format("http://127.0.0.1:{}", port_);
    options.signing = ObsSigning::aws_v4;
    options.region = "us-east-1";
    options.multipart_from = 6 << 20;
    options.part_size = 5 << 20;
    return {client_, *own_, options, "bucket-one"};
  }

 private:
  void start_server(const std::string& program, int tries) {
    make_directories(folder_ / "s3rver");
    port_ = 20000 + (::getpid() * 13 + tries * 173) % 12000;
    Child child =
        spawn({.argv = {program, "-d", (folder_ / "s3rver").string(), "-a", "127.0.0.1", "-p",
                        fmt::format("{}", port_), "--configure-bucket", "bucket-one"},
               .out = Stream::overwrite((folder_ / "s3rver.log").string(), 0600),
               .err = Stream::output(),
               .group = Group::shared});
    pid_ = child.release();
    const auto answers = [&] {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {  // the port was taken
        pid_ = -1;
        return true;
      }
      try {
        store().check();
        return true;
      } catch (const Error&) {
        return false;
      }
    };
    EXPECT_TRUE(testing::eventually(answers, std::chrono::minutes(1)));
  }

  int port_ = 0;
  pid_t pid_ = -1;
  std::unique_ptr<FixedCredentials> own_;
};

TEST_F(S3rver, TakesAndGivesFilesInOnePieceAndInParts) {
  ObsBucket bucket = store();
  for (const std::size_t size : {std::size_t{0}, std::size_t{100'000}, std::size_t{11 << 20}}) {
    const auto file = make_file("file", size);
    bucket.put_file("a b/c+d é.bin", file);
    (void)bucket.get_file("a b/c+d é.bin", folder_ / "back");
    EXPECT_EQ(read_file(folder_ / "back"), read_file(file)) << size;
  }
}

TEST_F(S3rver, SynchronizingAFolderWithSpacesIsStable) {
  ObsBucket bucket = store();
  for (int i = 0; i < 10; ++i) (void)make_file(fmt::format("data/a b/file {}+{}", i, i), 100);
  const FolderFiles files = content_of(folder_ / "data").files;
  EXPECT_EQ(sync_files(bucket, files, "job/").uploaded, 10U);
  const SyncReport again = sync_files(bucket, files, "job/");
  EXPECT_EQ(again.uploaded, 0U);
  EXPECT_EQ(again.removed, 0U);
  EXPECT_EQ(again.unchanged, 10U);
}

}  // namespace
}  // namespace assay::cloud
