#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/json.h"
#include "live/growing_log.h"

namespace assay::live {

/// A log of a run: a rank's, a hook's, or the controller's.
struct LogFile {
  std::filesystem::path file{};
  std::string case_name{};  ///< empty: the controller's
  int round = 0;
  int node = -1;  ///< -1: none
  std::string host{};
  int rank = -1;  ///< -1: none
  std::int64_t start_ms = 0;
  std::size_t round_index = 0;  ///< in RunWatch::rounds(); meaningless for the controller's
  bool sent = false;            ///< while the round runs, perhaps without all of its bytes
};

/// A node's telemetry.csv in one round.
struct TelemetryFile {
  std::filesystem::path file{};
  int node = 0;
  std::string host{};
  std::size_t round_index = 0;
};

struct WatchedRound {
  std::string case_name{};
  int round = 0;
  std::int64_t start_ms = 0;
  int begun = 1;  ///< how often: a resumed run begins a round again
  bool ended = false;
  bool listed = false;  ///< its folders were looked at after its end: nothing more comes
};

/// Something that happened, to be marked in charts.
struct RunMark {
  std::int64_t at_ms = 0;
  std::int64_t to_ms = 0;  ///< 0: a moment
  std::string kind{};      ///< "run", "round", "rank", "gap", "case", "phase", "evaluate"
  std::string text{};
};

/// What a run directory holds so far, from its journal and its folders. A link in place of a folder
/// is not followed; a journal that lies names no place outside of the run. One thread.
class RunWatch {
 public:
  static constexpr std::size_t kMaxMarks = 2000;
  static constexpr std::size_t kMaxLogs = 20'000;

  explicit RunWatch(std::filesystem::path run);

  /// Reads new events. False: the journal is a different one, and everything is void.
  [[nodiscard]] bool look();

  [[nodiscard]] const std::vector<LogFile>& logs() const noexcept { return logs_; }
  [[nodiscard]] const std::vector<TelemetryFile>& telemetry() const noexcept { return telemetry_; }
  [[nodiscard]] const std::vector<WatchedRound>& rounds() const noexcept { return rounds_; }
  [[nodiscard]] const std::vector<RunMark>& marks() const noexcept { return marks_; }
  /// Nobody works on the run.
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Why files of a round that goes on cannot be read here; empty: they can.
  [[nodiscard]] const std::string& late() const noexcept { return late_; }
  /// Seconds by which a node's wall clock is ahead of the controller's; 0 if unknown.
  [[nodiscard]] double clock_offset(int node) const;

 private:
  void take(const Json& event);
  void mark(std::int64_t at_ms, std::string kind, std::string_view text);
  void list(std::size_t round);
  void list_node(std::size_t round, const std::filesystem::path& folder, bool sent);
  /// What agents sent of the round so far, for the nodes whose own folders have not come.
  void list_sent(std::size_t round);
  void add_log(LogFile log);
  void read_plan();

  std::filesystem::path run_;
  GrowingLog journal_;
  std::uint64_t read_ = 0;  // of the journal
  std::vector<WatchedRound> rounds_;
  std::vector<LogFile> logs_;
  std::vector<TelemetryFile> telemetry_;
  std::vector<RunMark> marks_;
  std::map<std::filesystem::path, bool> known_;
  /// Folders of kLiveLogs that were taken up, and those of the evidence that replace them.
  std::map<std::filesystem::path, std::filesystem::path> sent_;
  std::map<std::tuple<std::size_t, int, int>, std::int64_t> rank_starts_;  // and by part
  std::map<int, double> offsets_;
  bool plan_read_ = false;
  bool ended_ = false;
  bool begun_again_ = false;
  std::string late_;
};

}  // namespace assay::live
