#include "e2e/engine/engine_conformance.h"

#include <algorithm>

#include "core/files.h"
#include "engine/execution_folder.h"

namespace assay::e2e {

std::optional<jobs::Event> Recorder::wait(const engine::Execution& execution,
                                          const std::vector<jobs::EventKind>& kinds,
                                          std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  std::optional<jobs::Event> found;
  changed_.wait_for(lock, limit, [&] {
    for (const jobs::Event& event : events_[execution])
      if (!found && std::ranges::find(kinds, event.kind) != kinds.end()) found = event;
    return found.has_value();
  });
  return found;
}

std::vector<jobs::EventKind> Recorder::kinds(const engine::Execution& execution) {
  const std::lock_guard guard(mutex_);
  std::vector<jobs::EventKind> out;
  for (const jobs::Event& event : events_[execution]) out.push_back(event.kind);
  return out;
}

void EngineConformance::SetUp() {
  AssayTest::SetUp();
  world_ = GetParam().world(folder_);
  if (!world_->missing().empty()) GTEST_SKIP() << world_->missing();
  new_server();
}

void EngineConformance::TearDown() {
  engine_.reset();
  world_.reset();
  AssayTest::TearDown();
}

void EngineConformance::new_server() {
  engine_.reset();
  recorder_ = std::make_unique<Recorder>();
  engine_ = world_->make();
  engine_->report_to(recorder_->reporter());
}

engine::Order EngineConformance::order(const std::string& command, jobs::JobId job,
                                       int attempt) const {
  engine::Order order;
  order.execution = {job, attempt};
  order.folder = folder_ / "jobs" / std::to_string(job) / ("attempt-" + std::to_string(attempt));
  order.owner = "alice";
  order.submission.name = "conformance";
  order.submission.command = command;
  order.placement = {{engine_->nodes().front().name, 1}};
  return order;
}

jobs::Event EngineConformance::end_of(const engine::Execution& execution) {
  const auto event =
      recorder_->wait(execution, {jobs::EventKind::exited, jobs::EventKind::engine_error});
  if (!event) {
    ADD_FAILURE() << "the execution has not ended";
    return {};
  }
  EXPECT_EQ(event->attempt, execution.attempt);
  return *event;
}

std::string EngineConformance::output(const engine::Order& order) {
  std::string out;
  const fs::path run = engine::ExecutionFolder(order.folder).run();
  std::error_code ec;
  if (run.empty()) return out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run, ec))
    if (entry.path().filename().string().ends_with(".out.log")) out += read_file(entry.path());
  return out;
}

std::size_t EngineConformance::lines(const std::string& file) const {
  const std::string text = read_file_or_empty(folder_ / file);
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

bool EngineConformance::has_lines(const std::string& file, std::size_t count) const {
  return eventually([&] { return lines(file) >= count; }, std::chrono::seconds(60));
}

}  // namespace assay::e2e
