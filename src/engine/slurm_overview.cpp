#include "engine/slurm_overview.h"

#include <exception>

#include <fmt/format.h>

#include "slurm/slurm_commands.h"

namespace assay::engine {

namespace {

// slurmctld has other things to do than to answer.
constexpr Nanoseconds kAskEvery = std::chrono::seconds(5);

}  // namespace

SlurmOverview::SlurmOverview() {
  refresh();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SlurmOverview::~SlurmOverview() {
  thread_.request_stop();
  changed_.notify_all();
}

std::vector<slurm::Node> SlurmOverview::nodes() {
  const std::lock_guard guard(mutex_);
  return nodes_;
}

std::vector<slurm::Job> SlurmOverview::jobs() {
  const std::lock_guard guard(mutex_);
  return jobs_;
}

std::string SlurmOverview::trouble() {
  const std::lock_guard guard(mutex_);
  if (silent_since_ns_ == 0) return {};
  return fmt::format("Slurm does not answer since {}: {}", iso_utc(silent_since_ns_), trouble_);
}

void SlurmOverview::heard() {
  const std::lock_guard guard(mutex_);
  silent_since_ns_ = 0;
}

void SlurmOverview::not_heard(const std::string& words) {
  const std::lock_guard guard(mutex_);
  trouble_ = words;
  if (silent_since_ns_ == 0) silent_since_ns_ = wall_now_ns();
}

void SlurmOverview::refresh() {
  auto nodes = slurm::ask_nodes();
  if (const auto* silence = std::get_if<slurm::NoAnswer>(&nodes)) return not_heard(silence->words);
  auto jobs = slurm::ask_jobs({});
  if (const auto* silence = std::get_if<slurm::NoAnswer>(&jobs)) return not_heard(silence->words);
  const std::lock_guard guard(mutex_);
  nodes_ = std::move(std::get<std::vector<slurm::Node>>(nodes));
  jobs_ = std::move(std::get<std::vector<slurm::Job>>(jobs));
  silent_since_ns_ = 0;
}

void SlurmOverview::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, stop, kAskEvery, [] { return false; }) &&
         !stop.stop_requested()) {
    lock.unlock();
    try {
      refresh();
    } catch (const std::exception&) {
      // There was no memory for the answer: it is asked again.
    }
    lock.lock();
  }
}

}  // namespace assay::engine
