#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace assay::platform {

/// What a FakeEngine was asked for; lives on when the engine is gone with its platform.
class EngineLog {
 public:
  void note(std::string what) {
    const std::lock_guard guard(mutex_);
    all_.push_back(std::move(what));
    changed_.notify_all();
  }
  /// Waits until it was asked for that; false after a minute.
  [[nodiscard]] bool saw(const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] {
      return std::find(all_.begin(), all_.end(), what) != all_.end();
    });
  }
  [[nodiscard]] std::vector<std::string> all() {
    const std::lock_guard guard(mutex_);
    return all_;
  }

  engine::Engine::Reporter reporter{};
  std::atomic<int> looks = 0;  ///< how often it was asked for its nodes
  std::vector<jobs::ClusterNode> nodes{{"node1", "cpu", 4}};
  std::map<engine::Execution, engine::Order> orders{};
  engine::Traits traits{.name = "fake"};
  std::string waits{};                                ///< what all jobs wait for in its queue
  std::optional<jobs::WallTime> expected_start_ns{};  ///< of all jobs that wait there
  std::vector<std::string> queues{};                  ///< that it has by itself
  std::string wrong_suite{};                          ///< a suite with this text cannot be planned
  engine::Planned planned{.text = "the plan", .nodes = 1, .procs = 1};

  void report(engine::Execution execution, jobs::EventKind kind, const jobs::Exit& exit = {}) {
    jobs::Event event;
    event.kind = kind;
    event.attempt = execution.attempt;
    event.exit = exit;
    reporter(execution, event);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

/// Does nothing but write down what it is asked for: "start 1.1", "stop 1.1 60s", "recall 1.1".
class FakeEngine : public engine::Engine {
 public:
  explicit FakeEngine(std::shared_ptr<EngineLog> log) : log_(std::move(log)) {}

  [[nodiscard]] engine::Traits traits() const override { return log_->traits; }
  [[nodiscard]] std::string waits_for(jobs::JobId /*job*/) override { return log_->waits; }
  [[nodiscard]] std::optional<jobs::WallTime> expected_start(jobs::JobId /*job*/) override {
    return log_->expected_start_ns;
  }
  [[nodiscard]] std::vector<std::string> queues() override { return log_->queues; }
  void report_to(Reporter reporter) override { log_->reporter = std::move(reporter); }
  [[nodiscard]] std::vector<jobs::ClusterNode> nodes() override {
    ++log_->looks;
    return log_->nodes;
  }
  void start(const engine::Order& order) override {
    log_->orders[order.execution] = order;
    log_->note("start " + name(order.execution));
  }
  void stop(const engine::Execution& execution, Nanoseconds grace) override {
    log_->note("stop " + name(execution) + " " +
               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(grace).count()) +
               "s");
  }
  [[nodiscard]] engine::Planned plan(const engine::Order& order) override {
    if (!log_->wrong_suite.empty() && order.submission.suite == log_->wrong_suite)
      throw Error(ErrorKind::config, "unknown key 'casse'", "suite.yaml:2:1");
    return log_->planned;
  }
  [[nodiscard]] std::map<std::string, std::vector<int>> devices_of(
      const engine::Execution& /*execution*/) override {
    return {{"node1", {0}}};
  }
  void recall(const std::vector<engine::Order>& orders) override {
    for (const engine::Order& order : orders) log_->note("recall " + name(order.execution));
    log_->note("recalled");
  }

 private:
  static std::string name(const engine::Execution& execution) {
    return std::to_string(execution.job) + "." + std::to_string(execution.attempt);
  }
  std::shared_ptr<EngineLog> log_;
};

}  // namespace assay::platform
