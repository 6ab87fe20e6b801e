#include "tensorboard/run_events.h"

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"
#include "core/run_layout.h"
#include "live/metric_readers.h"
#include "tensorboard/event_file.h"

namespace assay::tensorboard {

namespace {

using live::MetricName;

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max() / 4;

// The run's folder for the case and round, whose names are valid for files.
std::filesystem::path place_in(const std::filesystem::path& folder,
                               const std::filesystem::path& run,
                               const std::filesystem::path& file) {
  const std::filesystem::path relative = file.lexically_relative(run);
  auto part = relative.begin();
  // Parts sent earlier are the beginning of the file that replaces them.
  if (part != relative.end() && *part == std::filesystem::path(layout::kLiveLogs).parent_path())
    ++part;
  std::filesystem::path out = folder;
  for (int i = 0; i < 2 && part != relative.end(); ++i) out /= *part++;
  return out;
}

EventFile file_in(const std::filesystem::path& place, double at) {
  return {place / fmt::format("events.out.tfevents.{:.0f}.assay", at), at};
}

}  // namespace

struct RunEvents::OfRank {
  OfRank(const live::LogFile& log, const std::filesystem::path& place)
      : reader(log), file(file_in(place, static_cast<double>(log.start_ms) / 1e3)) {
    sink.step = [this](int /*rank*/, std::int64_t number) { step = number; };
    sink.value = [this](MetricName name, live::Scope scope, int, int item, double t, double value) {
      put(live::curve_tag_of(scope, item, name), t, value);
    };
    sink.amount = [this](MetricName name, int, double from, double to, double amount, bool) {
      put(live::curve_tag(name), to, amount / (to - from));
    };
    sink.mark = [](const live::RunMark&) {};
  }
  void put(std::string_view tag, double t, double value) {
    file.add(t, step, std::array{Scalar{tag, value}});
  }

  live::RankReader reader;
  EventFile file;
  live::MetricSink sink{};
  std::int64_t step = 0;
  bool readable = true;
};

struct RunEvents::OfNode {
  OfNode(const live::TelemetryFile& telemetry, double start, const std::filesystem::path& place)
      : reader(telemetry), file(file_in(place, start)), begin(start) {
    sink.value = [this](MetricName name, live::Scope scope, int, int item, double t, double value) {
      const std::string tag = scope == live::Scope::device
                                  ? fmt::format("device{}/{}", item, live::curve_tag(name))
                                  : fmt::format("node/{}", live::curve_tag(name));
      const auto second = static_cast<std::int64_t>(std::max(0.0, t - begin));
      file.add(t, second, std::array{Scalar{tag, value}});
    };
    sink.amount = [](MetricName, int, double, double, double, bool) {};
    sink.mark = [](const live::RunMark&) {};
  }

  live::NodeReader reader;
  EventFile file;
  double begin;
  live::MetricSink sink{};
  bool readable = true;
};

RunEvents::RunEvents(std::filesystem::path run, std::filesystem::path folder)
    : run_(std::move(run)), folder_(std::move(folder)), watch_(run_) {}

RunEvents::~RunEvents() = default;

std::size_t RunEvents::files() const noexcept {
  std::size_t count = nodes_.size();
  for (const auto& rank : ranks_) count += rank == nullptr ? 0 : 1;
  return count;
}

void RunEvents::look() {
  if (!watch_.look()) {
    // Another journal means another run: its files are rewritten.
    ranks_.clear();
    nodes_.clear();
  }
  for (std::size_t i = ranks_.size(); i < watch_.logs().size(); ++i) {
    const live::LogFile& log = watch_.logs()[i];
    const bool wanted = log.rank >= 0 && log.rank < live::kDetailedRanks;
    ranks_.push_back(wanted ? std::make_unique<OfRank>(log, place_in(folder_, run_, log.file) /
                                                                fmt::format("rank{}", log.rank))
                            : nullptr);
  }
  for (std::size_t i = nodes_.size(); i < watch_.telemetry().size(); ++i) {
    const live::TelemetryFile& file = watch_.telemetry()[i];
    const double start = static_cast<double>(watch_.rounds()[file.round_index].start_ms) / 1e3;
    nodes_.push_back(std::make_unique<OfNode>(
        file, start, place_in(folder_, run_, file.file) / file.file.parent_path().filename()));
  }
  const auto over = [&](std::size_t round) {
    return watch_.ended() || (watch_.rounds()[round].ended && watch_.rounds()[round].listed);
  };
  const auto read = [&](auto& one, int node, std::size_t round) {
    std::uint64_t left = kAll;
    // A log that was replaced gives no further data.
    if (one.readable)
      one.readable = one.reader.look(kAll, watch_.clock_offset(node), over(round), one.sink, left);
    one.file.flush();
  };
  for (const auto& rank : ranks_)
    if (rank != nullptr) read(*rank, rank->reader.log().node, rank->reader.log().round_index);
  for (const auto& node : nodes_)
    read(*node, node->reader.file().node, node->reader.file().round_index);
}

}  // namespace assay::tensorboard
