#pragma once

#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "live/live_metrics.h"
#include "live/rank_console.h"

namespace assay::live {

/// A run directory that is being written, or is finished: its console and its metrics as JSON
/// (docs/platform-api.md). What is there already is kept, so that an answer costs what is new.
/// Whatever the folder holds, nothing here waits or throws but std::bad_alloc. Thread-safe.
class LiveRun {
 public:
  explicit LiveRun(std::filesystem::path run);

  /// Console::page(), with "place" (text_of(LogPlace) of who has read the page), "ended", "live"
  /// and, where that is false while the run goes on, "why". A place of another run is none.
  [[nodiscard]] Json log(const ConsoleQuery& query);
  /// The same, and the place before the page.
  [[nodiscard]] Json log(ConsoleQuery query, LogPlace& before);
  /// Console::text().
  [[nodiscard]] std::string log_text(std::optional<int> rank, TextPlace& from,
                                     std::size_t most = Console::kMaxAnswer);
  /// Metrics::read(), with the same.
  [[nodiscard]] Json metrics(const MetricsQuery& query);
  /// The same as text, and whether more will come. Many who ask for the same at the same time share
  /// one answer.
  struct MetricsText {
    std::shared_ptr<const std::string> json{};
    double newest = 0;
    bool ended = false;  ///< and all of it is there
  };
  [[nodiscard]] MetricsText metrics_text(const MetricsQuery& query);
  [[nodiscard]] bool ended();

 private:
  // With the lock held:
  void look();
  void look_at_console();
  [[nodiscard]] Json read_metrics(const MetricsQuery& query);
  void add_state(Json& json) const;

  std::mutex lock_;
  std::filesystem::path path_;
  RunWatch watch_;
  std::string id_;  // the same whoever looks at the run, and when
  std::unique_ptr<Console> console_;
  std::unique_ptr<Metrics> metrics_;
  std::int64_t looked_ns_ = 0;          // when the folder was looked at last
  std::int64_t console_looked_ns_ = 0;  // … and its logs
  std::int64_t metrics_looked_ns_ = 0;
  struct Shared {
    MetricsQuery query{};
    std::int64_t looked_ns = 0;
    MetricsText text{};
  };
  std::list<Shared> shared_;  // the last answers, the newest first
};

/// The runs that somebody looks at; those that nobody has asked for longest are dropped.
/// Thread-safe.
class LiveRuns {
 public:
  explicit LiveRuns(std::size_t most = 16) : most_(most) {}
  [[nodiscard]] std::shared_ptr<LiveRun> open(const std::filesystem::path& run);

 private:
  std::mutex lock_;
  std::size_t most_;
  std::list<std::pair<std::filesystem::path, std::shared_ptr<LiveRun>>> runs_;
};

/// What a request asks for, by its parameters: rank ("all" or a number), from, lines, search, show,
/// first_error, after; from, to, points. Throws Error of kind usage that names the parameter.
[[nodiscard]] ConsoleQuery console_query(const std::map<std::string, std::string>& parameters);
[[nodiscard]] MetricsQuery metrics_query(const std::map<std::string, std::string>& parameters);

}  // namespace assay::live
