#pragma once

#include <gtest/gtest.h>

#include "error_of.h"
#include "eventually.h"
#include "fake_engine.h"
#include "platform/platform.h"
#include "temporary_folder.h"

namespace assay::platform {

/// A platform on a fake engine; `restart` is a new one on the same folder, as after kill -9.
class PlatformTest : public ::testing::Test {
 protected:
  void SetUp() override { begin(); }

  void begin(const engine::Traits& traits = {.name = "fake"}) {
    log_ = std::make_shared<EngineLog>();
    log_->traits = traits;
    platform_ = std::make_unique<Platform>(
        Options{.data = temporary_.path() / "data",
                .secret = [this](const std::string& owner, const std::string& /*team*/,
                                 const std::string& name) { return secret_of(owner, name); },
                .clocks = clocks()},
        std::make_unique<FakeEngine>(log_));
    platform_->start();
  }
  void restart(const engine::Traits& traits = {.name = "fake"}) {
    platform_.reset();
    begin(traits);
  }

  [[nodiscard]] std::string secret_of(const std::string& owner, const std::string& name) {
    const std::lock_guard guard(secrets_mutex_);
    const auto found = secrets_.find(owner + "/" + name);
    if (found == secrets_.end()) throw Error(ErrorKind::usage, "you keep no secret '" + name + "'");
    return found->second;
  }
  void set_secrets(std::map<std::string, std::string> secrets) {
    const std::lock_guard guard(secrets_mutex_);
    secrets_ = std::move(secrets);
  }

  /// The machine's, the wall clock set by `clock_set_s_`.
  [[nodiscard]] std::function<Clocks()> clocks() {
    return [this] {
      Clocks now = read_clocks();
      now.wall_ns += Nanoseconds(std::chrono::seconds(clock_set_s_)).count();
      return now;
    };
  }

  [[nodiscard]] static jobs::NewJob job(const std::string& name = "train") {
    jobs::NewJob job;
    job.owner = "alice";
    job.team = "vision";
    job.submission.name = name;
    job.submission.command = "true";
    return job;
  }
  [[nodiscard]] jobs::JobId submit(const jobs::NewJob& job) {
    return platform_->submit(job).front();
  }
  [[nodiscard]] jobs::State state(jobs::JobId id) { return platform_->find(id)->job.life.state; }
  [[nodiscard]] bool becomes(jobs::JobId id, jobs::State wanted) {
    return testing::eventually([&] { return state(id) == wanted; });
  }
  void exit(jobs::JobId id, int attempt, jobs::Ending ending = jobs::Ending::completed,
            int code = 0) {
    log_->report({id, attempt}, jobs::EventKind::exited, {.ending = ending, .code = code});
  }

  testing::TemporaryFolder temporary_;
  std::atomic<std::int64_t> clock_set_s_ = 0;
  std::mutex secrets_mutex_;
  std::map<std::string, std::string> secrets_;  ///< "alice/hf" → value
  std::shared_ptr<EngineLog> log_;
  std::unique_ptr<Platform> platform_;
};

}  // namespace assay::platform
