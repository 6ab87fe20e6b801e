#pragma once

#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "evidence/seal.h"
#include "launch/run_loop.h"
#include "temporary_folder.h"

namespace assay::launch {

class QuietObserver : public Observer {
 public:
  void round_started(const plan::CasePlan&, int, int done, int total) override {
    begun.emplace_back(done + 1, total);
  }
  void round_progress(const plan::CasePlan&, int, const RoundProgress&) override {}
  void round_ended(const plan::CasePlan&, int, const RoundOutcome&) override {}
  void waiting(const std::string&) override {}
  void warning(const std::string& text) override { warnings.push_back(text); }
  void remark(const std::string& text) override { remarks.push_back(text); }
  void stopping(int) override {}
  std::vector<std::string> warnings;
  std::vector<std::string> remarks;
  std::vector<std::pair<int, int>> begun;  // which round of how many
};

/// What a backend is asked for, and what it answers.
struct Script {
  std::vector<std::string> calls;
  std::deque<RoundOutcome> outcomes;  // of the rounds to come; completed when there are no more
  std::function<void(const RoundTask&)> during_round;
  Json device_states = Json::array();
  std::set<std::pair<std::string, int>> without_nodes{};  // rounds that cannot have their nodes
  std::pair<std::string, int> ends_when_interrupted{};    // the round, well
};

class ScriptedBackend : public Backend {
 public:
  ScriptedBackend(const BackendContext& context, Script& script)
      : script_(script),
        journal_(context.journal),
        interrupted_(context.loop, asio::steady_timer::time_point::max()) {}

  asio::awaitable<void> prepare() override {
    script_.calls.emplace_back("prepare");
    co_return;
  }
  asio::awaitable<Json> describe() override {
    script_.calls.emplace_back("describe");
    co_return Json::array({{{"node", 0}, {"host", "h"}}});
  }
  asio::awaitable<Json> device_states() override { co_return script_.device_states; }
  asio::awaitable<void> prepare_round(const RoundTask& task) override {
    if (script_.without_nodes.contains({task.plan_case.name, task.number}))
      throw NodesMissing(ErrorKind::launch, "n2 is away");
    co_return;
  }
  asio::awaitable<RoundOutcome> run_round(const RoundTask& task) override {
    script_.calls.push_back(task.plan_case.name + " " + std::to_string(task.number));
    journal_.append(store::JournalEvent::round_start,
                    {{"case", task.plan_case.name}, {"round", task.number}});
    if (script_.during_round) script_.during_round(task);
    asio::error_code ec;
    if (script_.ends_when_interrupted == std::pair(task.plan_case.name, task.number))
      co_await interrupted_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    if (script_.outcomes.empty()) co_return RoundOutcome{};
    const RoundOutcome outcome = script_.outcomes.front();
    script_.outcomes.pop_front();
    if (outcome.status == RoundStatus::interrupted)
      co_await interrupted_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    co_return outcome;
  }
  void interrupt(int times) override {
    script_.calls.push_back("interrupt " + std::to_string(times));
    interrupted_.cancel();
  }
  asio::awaitable<void> close() override {
    script_.calls.emplace_back("close");
    co_return;
  }

 private:
  Script& script_;
  store::Journal& journal_;
  asio::steady_timer interrupted_;
};

class RunLoopTest : public ::testing::Test {
 protected:
  RunLoopTest() {
    ::setenv("ASSAY_KEYS", (folder_.path() / "keys").c_str(), 1);
    plan_.run_id = "run1";
    for (const char* name : {"a", "b"}) {
      plan::CasePlan& plan_case = plan_.cases.emplace_back();
      plan_case.name = name;
      plan_case.repeats = 2;
    }
  }

  RunStatus execute() {
    const store::RunDir run = std::filesystem::exists(folder_.path() / "run1")
                                  ? store::RunDir::open(folder_.path() / "run1")
                                  : store::RunDir::create(folder_.path(), plan_);
    RunLoop loop(run, observer_, [this](const BackendContext& context) {
      return std::make_unique<ScriptedBackend>(context, script_);
    });
    if (enough_) loop.repeat_until(enough_);
    if (unmet_) loop.run_only_if(unmet_);
    return loop.execute();
  }
  [[nodiscard]] std::vector<std::string> journal(const std::string& event) const {
    std::vector<std::string> out;
    for (const Json& line : store::Journal::read(folder_.path() / "run1" / "journal.jsonl"))
      if (line["event"] == event)
        out.push_back(line.value("case", "") + std::to_string(line.value("round", 0)) + " " +
                      line.value("status", ""));
    return out;
  }

  [[nodiscard]] evidence::SealCheck seal() const {
    const std::filesystem::path run = folder_.path() / "run1";
    return evidence::verify_seal(
        read_file_or_empty(run / "seal.json"), "run1",
        [&](const std::string& name) { return evidence::measure_file(run / name, name); });
  }

  testing::TemporaryFolder folder_;
  plan::Plan plan_;
  Script script_;
  QuietObserver observer_;
  RunLoop::EnoughRounds enough_;
  RunLoop::UnmetCondition unmet_;
};

}  // namespace assay::launch
