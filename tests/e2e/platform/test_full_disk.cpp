// The server's data folder on a disk that a job fills.

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "e2e/platform/platform_test.h"
#include "needs.h"

namespace assay::e2e {
namespace {

class FullPlatformDisk : public PlatformTest {
 protected:
  void SetUp() override {
    fs::create_directories(data_);
    mounted_ = ::mount("tmpfs", data_.c_str(), "tmpfs", 0, "size=24m") == 0;
    if (!mounted_) GTEST_SKIP() << needs::system("mounting a tmpfs");
    PlatformTest::SetUp();
  }
  void TearDown() override {
    stop_server();
    if (mounted_) ::umount2(data_.c_str(), MNT_DETACH);
    PlatformTest::TearDown();
  }

  const fs::path data_ = folder_ / "tester";
  bool mounted_ = false;
};

TEST_F(FullPlatformDisk, TheJobThatFillsItCanBeStopped) {
  ASSERT_TRUE(eventually([&] { return fs::exists(data_ / "reserve"); }));
  const long id = submit({"--command", "while true; do cat /dev/zero >> full; sleep 0.01; done"});
  ASSERT_TRUE(
      eventually([&] { return fs::space(data_).available == 0; }, std::chrono::seconds(60)));
  const CommandResult cancelled = assay({"cancel", std::to_string(id)});
  EXPECT_EQ(cancelled.status.code, 0) << cancelled.out << cancelled.err;
  EXPECT_TRUE(becomes(id, "killed")) << job(id).dump(1);
}

}  // namespace
}  // namespace assay::e2e
