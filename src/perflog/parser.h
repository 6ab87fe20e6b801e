#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "perflog/event.h"

namespace assay::perflog {

/// Reads rank output, in pieces of any size, and calls `on_event` for every PerfLog line in it.
/// Tolerant: any text before the token and after the object, several events on one line, an event
/// after a torn one on the same line, bare NaN and Infinity, unknown events and keys, nested
/// objects and arrays, CR LF, NUL bytes, invalid UTF-8 and lines of any length; a line that cannot
/// be read is counted, never fatal. How the input is cut into pieces makes no difference. Memory is
/// bounded (events in a line longer than kMaxLine are skipped, and it counts as malformed).
/// After warm-up, nothing is allocated per line. One thread.
class Parser {
 public:
  static constexpr std::size_t kMaxLine = 1 << 20;
  using OnEvent = std::function<void(const Event&)>;
  /// Called for the text of every line that is not PerfLog, without its newline: a line without the
  /// token, and what stands before or after events. `ends`: nothing of the line follows; a line
  /// longer than kMaxLine may come in pieces, of which only the last ends it. May be empty.
  using OnText = std::function<void(std::string_view text, std::uint64_t line, bool ends)>;

  explicit Parser(OnEvent on_event, OnText on_text = {});
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void feed(std::string_view bytes);
  /// Says that bytes are missing between those fed and those to come: the line that has begun is
  /// ended, without `ends` for its text, and what comes begins another one.
  void cut();
  /// Ends the input: a last line without newline is parsed, or recorded as truncated.
  void finish();
  [[nodiscard]] const ParseStats& stats() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Feeds one file from its beginning to its end (rotated parts are the caller's business).
/// Throws Error of kind environment when it cannot be read.
void feed_file(const std::filesystem::path& path, Parser& parser);

/// The same with a parser of its own.
ParseStats parse_file(const std::filesystem::path& path, const Parser::OnEvent& on_event,
                      const Parser::OnText& on_text = {});

}  // namespace assay::perflog
