#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/json.h"
#include "live/run_watch.h"
#include "live/thinned_series.h"

namespace assay::live {

struct MetricsQuery {
  Span span{};               ///< Unix seconds
  std::size_t points = 600;  ///< of a series, at most 5000

  bool operator==(const MetricsQuery&) const = default;
};

/// What a series is about.
enum class Scope : std::uint8_t { job, rank, node, device, trial };

constexpr auto enum_names(Scope /*scope*/) {
  using enum Scope;
  return std::to_array<EnumName<Scope>>(
      {{job, "job"}, {rank, "rank"}, {node, "node"}, {device, "device"}, {trial, "trial"}});
}

inline constexpr int kDetailedRanks = 16;

struct RankReader;
struct NodeReader;

/// What a run measures while it goes on: PerfLog of its ranks and telemetry of its nodes, as series
/// over wall time (the controller's), thinned so that all of them together stay in about 30 MB.
/// Of ranks from kDetailedRanks on only the throughput is kept rank by rank. Trials of an
/// experiment have a curve each, of which the newest kShownTrials are shown. One thread.
class Metrics {
 public:
  static constexpr int kMaxRanks = 256;  ///< with a series of their own
  static constexpr std::size_t kShownTrials = 20;

  explicit Metrics(std::uint64_t generation = 1);
  ~Metrics();

  /// Reads new data, at most `bytes` of it.
  void look(const RunWatch& watch, std::uint64_t bytes);

  /// {"series": [{"name", "title", "unit", "scope", "of", "host"?, "replaces_from", "points"}],
  ///  "marks": [{"at", "t", "to"?, "kind", "text"}], "newest", "generation", "indexing"}; series
  /// without points in the span are left out.
  [[nodiscard]] Json read(const MetricsQuery& query) const;
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

 private:
  struct Key {
    Scope scope = Scope::job;
    int name = 0;  // index of kNames
    int node = -1;
    int item = -1;  // rank, device or trial
    auto operator<=>(const Key&) const = default;
  };

  void reset();
  void add(const Key& key, double t, double value);
  void add_trial(const Key& key, int rank, double t, double value);
  void add_rate(const Key& key, double from, double to, double amount);
  void limit();
  void add_mark(RunMark mark);

  std::map<Key, ThinnedSeries> values_;
  std::map<Key, RateSeries> rates_;
  std::map<int, std::string> hosts_;
  std::vector<std::unique_ptr<RankReader>> ranks_;
  std::vector<std::unique_ptr<NodeReader>> nodes_;
  std::map<int, double> newest_of_rank_;
  struct Trainer {
    int rank = -1;
    double last = 0;
  };
  std::map<Key, Trainer> trainers_;  // of trials
  std::vector<RunMark> phases_;
  std::vector<RunMark> marks_;  // of the journal
  double newest_ = 0;
  bool ended_ = false;
  bool indexing_ = false;
  std::uint64_t generation_;
};

}  // namespace assay::live
