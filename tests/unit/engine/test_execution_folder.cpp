#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/execution_folder.h"
#include "error_of.h"
#include "no_descriptors.h"
#include "temporary_folder.h"

namespace assay::engine {
namespace {

using testing::TemporaryFolder;

TEST(ExecutionFolder, IsDecidedOnce) {
  const TemporaryFolder temporary;
  const ExecutionFolder folder(temporary.path());
  EXPECT_FALSE(folder.beginning());
  EXPECT_TRUE(folder.decide({.never = true}));
  EXPECT_FALSE(folder.decide({.never = false, .pid = 7}));
  ASSERT_TRUE(folder.beginning());
  EXPECT_TRUE(folder.beginning()->never);
}

// One of many controllers that begin at the same moment does.
TEST(ExecutionFolder, IsDecidedOnceAlsoByThreadsThatRace) {
  const TemporaryFolder temporary;
  const ExecutionFolder folder(temporary.path());
  std::atomic<int> began = 0;
  {
    std::vector<std::jthread> racers;
    for (int i = 0; i < 8; ++i)
      racers.emplace_back([&, i] {
        if (folder.decide({.never = false, .pid = 100 + i})) ++began;
      });
  }
  EXPECT_EQ(began, 1);
  EXPECT_GE(folder.beginning()->pid, 100);
}

TEST(ExecutionFolder, IsHeldWhileItsControllerLives) {
  const TemporaryFolder temporary;
  const ExecutionFolder folder(temporary.path());
  EXPECT_FALSE(folder.held());
  {
    const ExecutionLock lock(folder);
    EXPECT_TRUE(folder.held());
    EXPECT_NE(
        testing::error_of([&] { return ExecutionLock(folder); }).find("has a controller already"),
        std::string::npos);
    EXPECT_TRUE(folder.held());  // asking has not taken it away
  }
  EXPECT_FALSE(folder.held());
}

// Else a machine without descriptors would take everything that runs for ended.
TEST(ExecutionFolder, SaysNothingOfWhatItCannotLookAt) {
  const TemporaryFolder temporary;
  const ExecutionFolder folder(temporary.path());
  const ExecutionLock lock(folder);
  folder.write_end({.exit_code = 3});
  ASSERT_TRUE(folder.decide({.pid = 7}));
  {
    const testing::NoDescriptors none;
    EXPECT_THROW((void)folder.held(), Error);
    EXPECT_THROW((void)folder.beginning(), Error);
    EXPECT_THROW((void)folder.end(), Error);
  }
  EXPECT_TRUE(folder.held());
  EXPECT_EQ(folder.beginning()->pid, 7);
  EXPECT_EQ(folder.end()->exit_code, 3);
}

TEST(ExecutionFolder, ReadsNothingFromWhatIsCutOrForeign) {
  const TemporaryFolder temporary;
  const ExecutionFolder folder(temporary.path());
  folder.write_task({.job = 3, .attempt = 2, .set = {"a=b"}, .devices = {{"n", {1}}}});
  EXPECT_EQ(folder.task()->devices.at("n"), std::vector<int>{1});
  for (const char* text : {"", "{", "[]", "{\"job\": 3}", "{\"job\": \"3\"}"}) {
    temporary.write("task.json", text);
    EXPECT_FALSE(folder.task()) << text;
  }
}

TEST(ExecutionFolder, FindsTheRunAndNotTheLinkToIt) {
  const TemporaryFolder temporary;
  const ExecutionFolder folder(temporary.path());
  EXPECT_EQ(folder.run(), "");
  temporary.write("run/run1/plan.json", "{}");
  std::filesystem::create_directory_symlink("run1", folder.runs() / "latest");
  EXPECT_EQ(folder.run(), folder.runs() / "run1");
}

TEST(ExecutionFolder, SecretsAreTakenOnceFromAFileThatNobodyElseReads) {
  const testing::TemporaryFolder temporary;
  const ExecutionFolder folder(temporary.path());
  const std::map<std::string, std::string> values{{"KEY", "a\n\"b\" $c"}, {"B", "ü"}};
  folder.write_secrets(values);
  const auto mode = std::filesystem::status(folder.path() / "secrets.json").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(folder.take_secrets(), values);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "secrets.json"));
  EXPECT_FALSE(folder.take_secrets());
  for (const char* wrong : {"", "{", "[1]", "{\"A\": 1}"}) EXPECT_FALSE(parse_secrets(wrong));
}

}  // namespace
}  // namespace assay::engine
