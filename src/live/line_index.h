#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "live/growing_log.h"
#include "live/log_line.h"

namespace assay::live {

/// Where the lines of one log are: a mark for every 64 lines and one byte a line. A line ends with
/// a newline, with its part of the log, after kMaxLine bytes (the rest is the next line), or where
/// the log ended for the time being when finish() was called. One thread.
class LineIndex {
 public:
  static constexpr std::size_t kMaxLine = 64U << 10;
  /// The indexed part of one log; lines beyond are only in the file.
  static constexpr std::uint64_t kMaxLines = 50'000'000;

  /// `start_ms`: when the log began (Unix epoch), for its lines before the first with a time.
  /// `sent`: LogFile::sent.
  LineIndex(std::filesystem::path file, std::int64_t start_ms, bool sent = false)
      : log_(std::move(file)), start_ms_(start_ms), sent_(sent), newest_ms_(start_ms) {}

  /// As GrowingLog::look(); after false the index is empty.
  [[nodiscard]] bool look();
  /// Reads on, at most `bytes` of the file, and gives how many it has read. The times of the lines
  /// found are appended to times(): never falling.
  std::uint64_t scan(std::uint64_t bytes);
  /// Nobody writes any more: text behind the last newline is a line.
  void finish();
  /// Whether scan() has reached the end of what look() saw, except for an unfinished line.
  [[nodiscard]] bool at_end() const noexcept { return at_end_; }

  /// Of the lines that nobody has taken yet, in order.
  [[nodiscard]] std::deque<std::int64_t>& times() noexcept { return times_; }
  [[nodiscard]] std::uint64_t lines() const noexcept { return levels_.size(); }
  [[nodiscard]] Level level(std::uint64_t line) const { return levels_[line]; }
  [[nodiscard]] const std::string& problem() const noexcept { return log_.problem(); }

  struct Line {
    std::uint64_t number = 0;  ///< from 0
    std::int64_t time_ms = 0;  ///< its own, or that of the newest line before that has one
    std::string_view bytes{};  ///< as they are in the file, without the newline
    std::uint64_t end = 0;     ///< in the rank's whole output, without the newline
    bool gone = false;         ///< the log was rotated and this part dropped, or it was cut
    bool begins = true;        ///< false: it goes on with the line before, which no newline ends
    bool open = false;         ///< no newline ends it
  };
  /// Calls `visit` for every one of `numbers` (rising), until it gives false.
  void read(std::span<const std::uint64_t> numbers,
            const std::function<bool(const Line&)>& visit) const;
  /// A line that is not behind the first one that ends behind `end`, and not far before it.
  [[nodiscard]] std::uint64_t line_near(std::uint64_t end) const;

 private:
  static constexpr std::uint64_t kStride = 64;
  struct Mark {
    std::uint64_t offset = 0;
    std::int64_t time_ms = 0;
  };
  // Calls `visit(text, offset, whether a newline ends it)` for the lines from `offset`, up to
  // `end`.
  template <class Visit>
  std::uint64_t walk(std::uint64_t offset, std::uint64_t end, std::uint64_t most,
                     Visit visit) const;
  void add(std::string_view text, std::uint64_t offset);
  // In the rank's whole output.
  [[nodiscard]] std::uint64_t position(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t end_of(std::string_view text, std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t break_after(std::uint64_t offset) const;
  [[nodiscard]] bool is_behind_newline(std::uint64_t offset) const;

  GrowingLog log_;
  std::int64_t start_ms_;
  bool sent_;
  std::int64_t newest_ms_;
  std::vector<Mark> marks_;
  // The first line of every part but the first: what follows a part that is gone is found there.
  struct Start {
    std::uint64_t line = 0;
    Mark mark;
  };
  std::vector<Start> starts_;
  std::size_t next_part_ = 1;
  // Behind a note of skipped bytes: how much further its rank was.
  struct Skip {
    std::uint64_t offset = 0;
    std::int64_t further = 0;  // in all
  };
  std::vector<Skip> skips_;
  std::vector<Level> levels_;
  std::vector<std::uint64_t> breaks_;  // where lines end without a newline, besides ends of parts
  std::deque<std::int64_t> times_;
  std::uint64_t scanned_ = 0;
  bool at_end_ = true;
};

}  // namespace assay::live
