#include <gmock/gmock.h>

#include "core/files.h"
#include "platform/folder_identity.h"
#include "platform_fixture.h"

namespace assay::platform {
namespace {

namespace fs = std::filesystem;
using jobs::EventKind;
using jobs::State;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

class FolderIdentity : public ::testing::Test {
 protected:
  FolderIdentity() { fs::create_directory(data_); }
  TemporaryFolder folder_;
  fs::path data_ = folder_.path() / "data";
};

TEST_F(FolderIdentity, ANewFolderIsNobodysCopy) {
  const FolderOrigin origin = look_at_folder(data_);
  EXPECT_FALSE(origin.copied);
  EXPECT_FALSE(origin.used);
}

TEST_F(FolderIdentity, AFolderThatWasMovedIsTheSame) {
  own_folder(data_, {});
  EXPECT_TRUE(look_at_folder(data_).used);
  fs::rename(data_, folder_.path() / "moved");
  EXPECT_FALSE(look_at_folder(folder_.path() / "moved").copied);
}

TEST_F(FolderIdentity, ACopyByHandIsKnownAndSaysOfWhat) {
  own_folder(data_, {.jobs = {7}});
  const fs::path copy = folder_.path() / "copy";
  fs::copy(data_, copy, fs::copy_options::recursive);
  const FolderOrigin origin = look_at_folder(copy);
  EXPECT_TRUE(origin.copied);
  EXPECT_EQ(origin.of, data_.string());
  EXPECT_THAT(origin.held.jobs, ElementsAre(7)) << "what the original held";
  own_folder(copy, origin.held);
  EXPECT_FALSE(look_at_folder(copy).copied);
  EXPECT_FALSE(look_at_folder(data_).copied);
}

TEST_F(FolderIdentity, ARestoredFolderIsACopyUntilAServerHasStarted) {
  mark_restored(data_, "/original", 5, true);
  const FolderOrigin origin = look_at_folder(data_);
  EXPECT_TRUE(origin.copied && origin.backup && origin.resume);
  EXPECT_EQ(origin.of, "/original");
  EXPECT_EQ(origin.at_ns, 5);
  own_folder(data_, {});
  EXPECT_FALSE(look_at_folder(data_).copied);
}

TEST_F(FolderIdentity, ABackupThatIsServedItselfIsACopy) {
  write_file_atomic(data_ / kBackupList, R"({"from": "/original", "made_ns": 5})");
  EXPECT_TRUE(look_at_folder(data_).copied);
  write_file_atomic(data_ / kBackupList, "{");
  EXPECT_TRUE(look_at_folder(data_).copied);
  own_folder(data_, {});
  EXPECT_FALSE(fs::exists(data_ / kBackupList)) << "its list does not hold any more";
}

TEST_F(FolderIdentity, WhatCannotBeReadIsNotTakenForAFolderOfOnesOwn) {
  write_file_atomic(data_ / "folder.json", "{");
  EXPECT_THAT(error_of([&] { return look_at_folder(data_); }), HasSubstr("whether this folder is"));
}

// A copy of a platform's folder.

class PlatformOnCopy : public PlatformTest {
 protected:
  // One that runs since the moment 1, one that waits for it, and one that wants approval.
  void SetUp() override {
    PlatformTest::SetUp();
    Settings settings = platform_->settings();
    settings.queues.push_back({.name = "careful", .approval = true});
    platform_->change_settings(settings);
    running_ = submit(job());
    ASSERT_TRUE(log_->saw("start 1.1"));
    log_->report({running_, 1}, EventKind::started);
    ASSERT_TRUE(becomes(running_, State::running));
    jobs::NewJob after = job();
    after.submission.after = {running_};
    waiting_ = submit(after);
    jobs::NewJob careful = job();
    careful.submission.queue = "careful";
    unapproved_ = submit(careful);
    platform_.reset();
    log_ = std::make_shared<EngineLog>();
    log_->traits = {.name = "fake"};
    platform_ = std::make_unique<Platform>(Options{.data = temporary_.path() / "data"},
                                           std::make_unique<FakeEngine>(log_));
  }
  jobs::JobId running_ = 0;
  jobs::JobId waiting_ = 0;
  jobs::JobId unapproved_ = 0;
};

TEST_F(PlatformOnCopy, WhatRanIsOverAndWhatWaitsIsHeld) {
  const auto started_ns = platform_->find(running_)->job.life.started_ns;
  const auto copied = platform_->begin_as_copy({"was running then", "held"}, started_ns + 3, true);
  EXPECT_EQ(platform_->begin_as_copy({"was running then", "held"}, 0, true).paused, copied.paused)
      << "after a start that was cut off";
  platform_->start();
  EXPECT_EQ(copied.lost, 1U);
  EXPECT_THAT(copied.paused, ElementsAre(waiting_, unapproved_));
  ASSERT_TRUE(log_->saw("recalled"));
  EXPECT_THAT(log_->all(), ElementsAre("recalled")) << "the engine hears of none of them";
  const jobs::Life life = platform_->find(running_)->job.life;
  EXPECT_EQ(life.state, State::error);
  EXPECT_THAT(life.message, HasSubstr("was running then"));
  EXPECT_EQ(life.ended_ns, started_ns + 3) << "nobody pays for the time since";
  EXPECT_EQ(state(waiting_), State::paused);
  EXPECT_EQ(platform_->find(waiting_)->job.life.message, "paused: held");
  (void)platform_->ask(unapproved_, EventKind::resume_asked, "");
  EXPECT_EQ(state(unapproved_), State::unapproved) << "nobody has approved it by that";
}

TEST_F(PlatformOnCopy, WhatWaitsGoesOnWhereThatWasSaid) {
  const auto copied = platform_->begin_as_copy({"was running then", "held"}, 0, false);
  platform_->start();
  EXPECT_EQ(copied.lost, 1U);
  EXPECT_TRUE(copied.paused.empty());
  EXPECT_EQ(state(running_), State::error);
  EXPECT_TRUE(becomes(waiting_, State::killed)) << "it waited for what has failed here";
  EXPECT_EQ(state(unapproved_), State::unapproved);
}

}  // namespace
}  // namespace assay::platform
