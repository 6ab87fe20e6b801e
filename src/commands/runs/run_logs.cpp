#include "commands/runs/run_logs.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::commands {

namespace fs = std::filesystem;

namespace {

constexpr int kPauseMs = 300;
constexpr std::size_t kPiece = 256U << 10;
constexpr std::uint64_t kTail = 4U << 20;  // the part searched for lines shown earlier

struct NodeFolder {
  fs::path path;
  bool so_far = false;
};

// While the run is in progress, what a node's agent sent precedes the node's own folder: that is
// then being fetched, and complete when the other is gone.
std::vector<NodeFolder> node_folders(const store::RunDir& run, const std::string& case_name,
                                     int round) {
  std::map<std::string, NodeFolder> by_name;
  std::error_code ec;
  for (const fs::directory_entry& node :
       fs::directory_iterator(run.round_dir(case_name, round), ec))
    by_name[node.path().filename().string()] = {node.path(), false};
  const bool running = store::RunLock::held(run.path());
  const fs::path sent = run.live_logs() / case_name / layout::round_folder(round);
  for (const fs::directory_entry& node : fs::directory_iterator(sent, ec)) {
    const std::string name = node.path().filename().string();
    if (running || !by_name.contains(name)) by_name[name] = {node.path(), true};
  }
  std::vector<NodeFolder> out;
  for (auto& [name, folder] : by_name) out.push_back(std::move(folder));
  return out;
}

std::string read_at(const fs::path& path, std::uint64_t offset, std::size_t most) {
  std::string bytes(most, '\0');
  std::size_t have = 0;
  try {
    const UniqueFd fd = open_regular_file(path);
    while (fd && have < most) {
      const ssize_t n =
          ::pread(fd.get(), bytes.data() + have, most - have, static_cast<off_t>(offset + have));
      if (n <= 0) break;
      have += static_cast<std::size_t>(n);
    }
  } catch (const Error&) {
    have = 0;  // it has just disappeared
  }
  bytes.resize(have);
  return bytes;
}

/// A log being followed.
class Followed {
 public:
  /// Complete lines since the last call; what the log had before the first call counts as shown,
  /// except its last `lines`.
  std::string more(const LogFile& log, int lines) {
    const fs::path& file = log.parts.back();
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0) return {};
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (inode_ == 0)
      at_ = lines < 0 ? 0 : before_last_lines(file, size, lines);
    else if (file != file_)
      at_ = behind_last_shown(file, size);
    else if (inode_ != status.st_ino || size < at_)
      at_ = 0;  // the log was rotated
    file_ = file;
    inode_ = status.st_ino;
    std::string bytes =
        read_at(file, at_, std::min<std::uint64_t>(size - std::min(size, at_), kPiece));
    const std::size_t end = bytes.rfind('\n');
    // A longer line is shown in pieces.
    if (end != std::string::npos || bytes.size() < kPiece) bytes.resize(end + 1);
    at_ += bytes.size();
    if (!bytes.empty()) last_shown_ = bytes.substr(bytes.rfind('\n', bytes.size() - 2) + 1);
    return bytes;
  }

 private:
  static std::uint64_t before_last_lines(const fs::path& file, std::uint64_t size, int lines) {
    const std::uint64_t from = size - std::min(size, kTail);
    const std::string tail = read_at(file, from, static_cast<std::size_t>(size - from));
    std::size_t at = tail.size();
    for (int i = 0; i <= lines && at != std::string::npos && at > 0; ++i)
      at = tail.rfind('\n', at - 1);
    return from + (at == std::string::npos || at == 0 ? 0 : at + 1);
  }
  // The parts of a log that were sent may lack lines: the last shown line tells where to continue.
  [[nodiscard]] std::uint64_t behind_last_shown(const fs::path& file, std::uint64_t size) const {
    const std::uint64_t from = size - std::min(size, kTail);
    const std::string tail = read_at(file, from, static_cast<std::size_t>(size - from));
    const std::size_t shown = last_shown_.empty() ? std::string::npos : tail.rfind(last_shown_);
    return shown == std::string::npos ? before_last_lines(file, size, 10)
                                      : from + shown + last_shown_.size();
  }

  fs::path file_;
  ino_t inode_ = 0;
  std::uint64_t at_ = 0;
  std::string last_shown_;  // a line
};

using RoundName = std::pair<std::string, int>;

// The current round; if nobody works on the run, the last one with logs.
std::optional<RoundName> current_round(const store::RunDir& run, const std::vector<LogFile>& logs) {
  const Json live = parse_json_or_null(read_regular_file_or_empty(run.live_file()));
  if (live.is_object())
    return RoundName(text_at(live, "case"), static_cast<int>(integer_at(live, "round", 0)));
  std::optional<RoundName> last;
  std::int64_t newest = 0;
  for (const LogFile& log : logs) {
    struct stat status {};
    if (::lstat(log.parts.back().c_str(), &status) != 0 || status.st_mtime < newest) continue;
    newest = status.st_mtime;
    last = RoundName(log.case_name, log.round);
  }
  return last;
}

void print_lines(std::string_view bytes, const std::string& prefix, bool raw) {
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    fmt::print("{}{}\n", prefix, raw ? std::string(line) : printable(line));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

std::vector<LogFile> find_logs(const store::RunDir& run, const LogChoice& choice) {
  std::vector<LogFile> logs;
  for (const plan::CasePlan& plan_case : run.plan().cases) {
    if (!choice.case_name.empty() && plan_case.name != choice.case_name) continue;
    for (int round = 1; round <= plan_case.rounds(); ++round) {
      if (choice.round > 0 && round != choice.round) continue;
      for (const NodeFolder& node : node_folders(run, plan_case.name, round)) {
        for (int rank = 0; rank < plan_case.world_size(); ++rank) {
          if (choice.rank >= 0 && rank != choice.rank) continue;
          LogFile log{plan_case.name, round, rank, node.path.filename().string(),
                      store::rank_logs(node.path, rank)};
          if (log.parts.empty()) continue;
          log.so_far = node.so_far;
          std::error_code ec;
          for (const fs::path& part : log.parts)
            if (!is_irregular(part)) log.bytes += fs::file_size(part, ec);
          logs.push_back(std::move(log));
        }
      }
    }
  }
  std::ranges::stable_sort(logs, [](const LogFile& a, const LogFile& b) {
    return std::tie(a.case_name, a.round, a.rank) < std::tie(b.case_name, b.round, b.rank);
  });
  return logs;
}

int follow_logs(const store::RunDir& run, const LogChoice& choice, int lines, bool raw) {
  std::map<std::tuple<std::string, int, int>, Followed> followed;
  std::set<int> ranks;
  std::string shown_of;  // "case, round 2"
  for (bool first = true;; first = false) {
    const bool running = store::RunLock::held(run.path());
    const std::vector<LogFile> logs = find_logs(run, choice);
    const std::optional<RoundName> current = first ? current_round(run, logs) : std::nullopt;
    bool more = false;
    for (const LogFile& log : logs) ranks.insert(log.rank);
    for (const LogFile& log : logs) {
      // Logs that appear later are shown from their beginning.
      const bool old = first && current != RoundName(log.case_name, log.round);
      const std::string text =
          followed[{log.case_name, log.round, log.rank}].more(log, !first ? -1
                                                                   : old  ? 0
                                                                          : lines);
      if (text.empty()) continue;
      more = true;
      const std::string place = fmt::format("{}, round {}", log.case_name, log.round);
      if (place != std::exchange(shown_of, place)) fmt::print("==> {} <==\n", place);
      print_lines(text, ranks.size() > 1 ? fmt::format("[{}] ", log.rank) : "", raw);
    }
    std::fflush(stdout);
    if (more) continue;
    if (!running) {
      if (shown_of.empty()) tell_error(fmt::format("{} is not running\n", run.plan().run_id));
      return 0;
    }
    ::poll(nullptr, 0, kPauseMs);
  }
}

}  // namespace assay::commands
