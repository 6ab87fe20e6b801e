#include <gtest/gtest.h>

#include "platform/disk_reserve.h"
#include "platform/job_folders.h"
#include "temporary_folder.h"

namespace assay::platform {
namespace {

TEST(JobFolders, NameTheAttemptsOfAJob) {
  const JobFolders folders("/data");
  EXPECT_EQ(folders.of(7), "/data/jobs/7");
  EXPECT_EQ(folders.of(7, 2), "/data/jobs/7/attempt-2");
}

TEST(JobFolders, FindWhatARemovalHasLeft) {
  const testing::TemporaryFolder data;
  const JobFolders folders(data.path());
  make_directories(folders.of(3, 1));
  make_directories(folders.of(9, 1));
  make_directories(folders.of(7).parent_path() / "notes");
  EXPECT_TRUE(folders.all_removed().empty());
  EXPECT_EQ(folders.last(), 9);
  std::filesystem::rename(folders.of(9), folders.removed(9));
  EXPECT_EQ(folders.all_removed(), std::vector<jobs::JobId>{9});
  EXPECT_EQ(folders.last(), 3);
}

TEST(JobFolders, AreOneServersAlone) {
  const testing::TemporaryFolder data;
  const UniqueFd lock = lock_data_folder(data.path());
  EXPECT_THROW((void)lock_data_folder(data.path()), Error);
}

TEST(DiskReserve, IsGivenUpAndKeptAgain) {
  const testing::TemporaryFolder data;
  const DiskReserve reserve(data.path());
  reserve.keep();
  EXPECT_EQ(std::filesystem::file_size(data.path() / "reserve"), std::uintmax_t{2} << 20);
  reserve.give_up();
  EXPECT_FALSE(std::filesystem::exists(data.path() / "reserve"));
  reserve.keep();
  EXPECT_TRUE(std::filesystem::exists(data.path() / "reserve"));
}

}  // namespace
}  // namespace assay::platform
