#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "agent/messages.h"
#include "core/files.h"

namespace assay::launch {

/// What agents without shared files send of a round's logs while it runs, in files below
/// layout::kLiveLogs: for `assay logs`, `assay top --web` and the platform's pages, never for the
/// judge. Files are bounded; when one cannot be written, there is nothing to be seen, and the round
/// goes on. The files go with the object: the evidence has come by then.
class LiveLogs {
 public:
  /// `folder`: of the round, below the run's live_logs(); `hosts` by node. What lies there from an
  /// earlier attempt is removed.
  LiveLogs(std::filesystem::path folder, std::vector<std::string> hosts);
  ~LiveLogs();
  LiveLogs(const LiveLogs&) = delete;
  LiveLogs& operator=(const LiveLogs&) = delete;

  void write(int node, const agent::Output& output);

  /// Of one file: as much again is kept of what came before.
  static constexpr std::uint64_t kMostBytes = 4U << 20;

 private:
  struct File {
    UniqueFd fd;
    std::uint64_t bytes = 0;
  };
  void append(const std::filesystem::path& path, File& file, std::string_view bytes);

  std::filesystem::path folder_;
  std::vector<std::string> hosts_;
  std::map<std::filesystem::path, File> files_;
  bool broken_ = false;
};

}  // namespace assay::launch
