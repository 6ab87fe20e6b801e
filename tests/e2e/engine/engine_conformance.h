#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "e2e/harness.h"
#include "engine/engine.h"

namespace assay::e2e {

/// What an engine has reported, by execution.
class Recorder {
 public:
  [[nodiscard]] engine::Engine::Reporter reporter() {
    return [this](const engine::Execution& execution, const jobs::Event& event) {
      const std::lock_guard guard(mutex_);
      events_[execution].push_back(event);
      changed_.notify_all();
    };
  }
  /// Waits for the first event of one of these kinds; a machine may be slow.
  [[nodiscard]] std::optional<jobs::Event> wait(
      const engine::Execution& execution, const std::vector<jobs::EventKind>& kinds,
      std::chrono::seconds limit = std::chrono::seconds(60));
  [[nodiscard]] std::vector<jobs::EventKind> kinds(const engine::Execution& execution);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<engine::Execution, std::vector<jobs::Event>> events_;
};

/// What an engine works on, for the time of a test.
class EngineWorld {
 public:
  virtual ~EngineWorld() = default;
  /// Why there can be none here; empty: there is one.
  [[nodiscard]] virtual std::string missing() const { return {}; }
  /// An engine with a node of four devices.
  [[nodiscard]] virtual std::unique_ptr<engine::Engine> make() = 0;
};

/// An engine that is held against the contract of engine.h.
struct EngineKind {
  std::string name;
  std::function<std::unique_ptr<EngineWorld>(const fs::path& folder)> world;
};

/// The same tests for every engine. Jobs are real: each is a run of a command by `assay`.
class EngineConformance : public AssayTest, public ::testing::WithParamInterface<EngineKind> {
 protected:
  /// A command that no other test has, nor this one in another process.
  const std::string nap_ = "sleep 36240." + std::to_string(::getpid());

  void SetUp() override;
  void TearDown() override;

  /// A server on the test's folder. The one before is gone, as after kill -9 but for its process.
  void new_server();
  [[nodiscard]] engine::Order order(const std::string& command, jobs::JobId job = 1,
                                    int attempt = 1) const;
  [[nodiscard]] jobs::Event end_of(const engine::Execution& execution);
  /// What the job's ranks printed.
  [[nodiscard]] static std::string output(const engine::Order& order);
  /// Waits until the file has that many lines.
  [[nodiscard]] bool has_lines(const std::string& file, std::size_t count) const;
  [[nodiscard]] std::size_t lines(const std::string& file) const;

  std::unique_ptr<EngineWorld> world_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace assay::e2e
