#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "perflog/event.h"

namespace assay::perflog {

/// Reads rank output in pieces of any size and calls `on_event` for every PerfLog line. Tolerates
/// any text before the token and after the object, several events per line, an event after a torn
/// one on the same line, bare NaN and Infinity, unknown events and keys, nested objects and arrays,
/// CR LF, NUL bytes, invalid UTF-8 and lines of any length; unreadable lines are counted, never
/// fatal. The result does not depend on how the input is cut. Memory is bounded (events in a line
/// longer than kMaxLine are skipped, and it counts as malformed). Allocates nothing per line after
/// warm-up. Single-threaded.
class Parser {
 public:
  static constexpr std::size_t kMaxLine = 1 << 20;
  using OnEvent = std::function<void(const Event&)>;
  /// Called with text outside PerfLog events, without newlines: lines without the token, and what
  /// precedes or follows events. `ends`: the rest of the line is empty; a line longer than kMaxLine
  /// may come in pieces, only the last of which ends it. May be empty.
  using OnText = std::function<void(std::string_view text, std::uint64_t line, bool ends)>;

  explicit Parser(OnEvent on_event, OnText on_text = {});
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void feed(std::string_view bytes);
  /// Announces that bytes are missing before the next ones: ends the current line, without `ends`
  /// for its text, and starts a new one.
  void cut();
  /// Ends the input; a last line without a newline is parsed or recorded as truncated.
  void finish();
  [[nodiscard]] const ParseStats& stats() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Feeds one whole file (the caller handles rotated parts). Throws Error of kind environment when
/// it cannot be read.
void feed_file(const std::filesystem::path& path, Parser& parser);

/// The same with a new parser.
ParseStats parse_file(const std::filesystem::path& path, const Parser::OnEvent& on_event,
                      const Parser::OnText& on_text = {});

}  // namespace assay::perflog
