#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "live/line_index.h"
#include "live/log_place.h"
#include "live/run_watch.h"

namespace assay::live {

/// Which lines are shown.
enum class Lines : std::uint8_t {
  all,
  text,      ///< without PerfLog
  warnings,  ///< warnings and errors
  errors,
};

constexpr auto enum_names(Lines /*lines*/) {
  using enum Lines;
  return std::to_array<EnumName<Lines>>(
      {{all, "all"}, {text, "text"}, {warnings, "warnings"}, {errors, "errors"}});
}

struct ConsoleQuery {
  std::optional<int> rank{};  ///< nothing: all
  Lines show = Lines::all;
  std::int64_t from = 1;     ///< number of a line; -200: 200 before the end
  std::size_t lines = 200;   ///< at most kMaxPage
  std::string search{};      ///< only lines that hold it, whatever the case of its letters
  bool first_error = false;  ///< from the first error on, a few lines before it
  /// Instead of `from`: what was not read before.
  std::optional<LogPlace> after{};
  bool placed = false;  ///< with `from`: the place says of every log what comes before
};

/// Where a text of a log goes on, "17" or "17.1024": before line 17, or within it.
struct TextPlace {
  std::int64_t line = 1;     ///< its number
  std::uint64_t pieces = 0;  ///< of that line, which is in so many pieces, are there already
  /// By log: the last piece of a long line that is there. Known only while a text is made.
  std::map<std::size_t, std::uint64_t> given{};
};
[[nodiscard]] std::string text_of(const TextPlace& place);
/// Nothing: it is not the text of one.
[[nodiscard]] std::optional<TextPlace> parse_text_place(std::string_view text);

/// The output of all ranks as one text, merged by time, or that of one rank, with numbered lines.
/// The time of a line is that of the newest PerfLog line of its rank up to it. Lines that have a
/// number keep it for the life of this object, unless a log was cut: then generation() changes.
/// Memory is bounded whatever the logs are: a mark for every 64 lines, a byte for every line, and
/// 16 bytes for every change between ranks (beyond kMaxRuns lines are merged in larger pieces).
/// One thread.
class Console {
 public:
  static constexpr std::size_t kMaxPage = 2000;
  static constexpr std::size_t kMaxText = 8192;             ///< bytes of a line in an answer
  static constexpr std::size_t kMaxAnswer = 1U << 20;       ///< bytes of text
  static constexpr std::uint64_t kMaxSearch = 32ULL << 20;  ///< bytes looked at for one answer
  static constexpr std::size_t kMaxRuns = 4'000'000;

  explicit Console(std::uint64_t generation = 1) : generation_(generation) {}

  /// Takes up what the logs of `watch` have more than at the last call, at most `bytes` of them.
  void look(const RunWatch& watch, std::uint64_t bytes);

  /// {"lines": [{"n", "at", "case", "round", "node", "rank", "text", "level", "log", "end",
  ///  "cut"?}], "next", "total", "first_error", "generation", "indexing", "ranks", "problems"?,
  ///  "again"?: the place is of another merging and does not say what was read: lines come again}
  [[nodiscard]] Json page(const ConsoleQuery& query);
  /// The same, and the place of who has read all that comes before the page.
  [[nodiscard]] Json page(const ConsoleQuery& query, LogPlace& before);
  /// Text to be kept, from a place on, with the rank before every line of several; sets `from` to
  /// where it goes on. At most `most` bytes, or one line or piece. Empty: that was all. A line in
  /// several pieces is whole here, at the place of its first one; what is longer than `most` is a
  /// text by itself, without its end.
  [[nodiscard]] std::string text(std::optional<int> rank, TextPlace& from,
                                 std::size_t most = kMaxAnswer);
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  [[nodiscard]] std::uint64_t total() const noexcept { return all_.total; }

 private:
  struct Run {
    std::uint64_t first = 0;   // number in the view, from 0
    std::uint32_t source = 0;  // index of sources_
    std::uint32_t line = 0;    // of the source
  };
  // A choice of lines, in order.
  struct View {
    std::optional<int> rank{};
    Lines show = Lines::all;
    std::vector<Run> runs{};
    std::uint64_t total = 0;
    std::uint64_t taken = 0;  // of all_
  };
  struct Source {
    LogFile log;
    std::string key;  // names the log in a LogPlace
    LineIndex index;
    std::uint64_t merged = 0;
    bool finished = false;
  };
  struct Found {
    std::uint64_t number = 0;
    std::size_t source = 0;
    LineIndex::Line line{};
    std::string text{};
    std::size_t cut = 0;
  };

  void reset();
  void merge(std::uint64_t bytes);
  void append(View& view, std::size_t source, std::uint64_t line, std::uint64_t count);
  [[nodiscard]] View& view(std::optional<int> rank, Lines show);
  void extend(View& view);
  [[nodiscard]] std::optional<std::uint64_t> first_error(std::optional<int> rank);
  // A line of the view, not behind the first that is not in the place.
  [[nodiscard]] std::uint64_t first_new(const View& view, const LogPlace& place) const;
  // Ends of the logs' last lines before this one.
  void take_before(const View& view, std::uint64_t number, LogPlace& place) const;
  // Lines of a view by number, in order; `keep` decides about each.
  [[nodiscard]] std::vector<Found> read(const View& view, std::uint64_t from, std::size_t count,
                                        std::size_t max_text) const;
  [[nodiscard]] Json to_json(const Found& found) const;
  // Adds pieces of the source's line that begins with piece `first`, without the first `done` of
  // them, up to `most` bytes in `out` or one piece. Gives how many are there then, and whether that
  // is all; then with a newline.
  struct Given {
    std::uint64_t pieces = 0;
    bool all = false;
  };
  [[nodiscard]] Given add_pieces(std::string& out, std::size_t source, std::uint64_t first,
                                 std::uint64_t done, std::size_t most) const;

  std::vector<std::unique_ptr<Source>> sources_;
  View all_;
  std::list<View> views_;  // the last used first
  std::uint64_t generation_;
  bool indexing_ = false;
};

}  // namespace assay::live
