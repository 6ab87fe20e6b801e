#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/dlws_home.h"
#include "core/files.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;

class DlwsHomes : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(home_);
    ::setenv("USER", "ann", 1);
    folder_.write("round/ib_config", "ib-a slots=8\n");
  }

  testing::TemporaryFolder folder_;
  const fs::path homes_ = folder_.path() / "home";
  const fs::path home_ = homes_ / "ann";
  const fs::path config_ = folder_.path() / "round/ib_config";
  std::map<std::string, std::string> env_{{"DLWS_JOB_ID", "7"}};
};

TEST_F(DlwsHomes, HasWhatTheDocumentsCommandLooksFor) {
  {
    const DlwsHome home(env_, config_, homes_);
    EXPECT_EQ(read_file(homes_ / env_.at("DLWS_USER_NAME") / "ib_config"), "ib-a slots=8\n");
    EXPECT_TRUE(fs::is_directory(home_ / "tensorboard/7/logs"));
  }
  EXPECT_FALSE(fs::is_symlink(home_ / "ib_config"));
  EXPECT_TRUE(fs::is_directory(home_ / "tensorboard/7/logs")) << "the curves stay";
}

TEST_F(DlwsHomes, TheLinkOfARoundThatWasKilledIsReplacedAndALaterOneStays) {
  fs::create_symlink("/nowhere/ib_config", home_ / "ib_config");
  {
    const DlwsHome home(env_, config_, homes_);
    EXPECT_EQ(fs::read_symlink(home_ / "ib_config"), config_);
    fs::remove(home_ / "ib_config");
    fs::create_symlink("/of/another", home_ / "ib_config");
  }
  EXPECT_TRUE(fs::is_symlink(home_ / "ib_config"));
}

TEST_F(DlwsHomes, AFileOfTheUsersOwnStays) {
  folder_.write("home/" + home_.filename().string() + "/ib_config", "mine\n");
  { const DlwsHome home(env_, config_, homes_); }
  EXPECT_EQ(read_file(home_ / "ib_config"), "mine\n");
}

TEST_F(DlwsHomes, OtherRoundsAndForeignNamesChangeNothing) {
  env_.clear();
  { const DlwsHome home(env_, config_, homes_); }
  EXPECT_TRUE(env_.empty());
  env_ = {{"DLWS_JOB_ID", "../7"}, {"DLWS_USER_NAME", "../home/" + home_.filename().string()}};
  { const DlwsHome home(env_, config_, homes_); }
  EXPECT_TRUE(fs::is_empty(home_));
}

}  // namespace
}  // namespace assay::agent
