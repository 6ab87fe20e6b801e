#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.h"

namespace assay::entry {

// What goes over a stream between who enters a job and the program there: frames of a letter, four
// bytes of length, the highest first, and the content.

enum class FrameKind : char {
  command = 'c',       ///< the first one: ProgramRequest
  input = 'i',         ///< bytes for its stdin, or its terminal
  end_of_input = 'z',  ///< its stdin ends; the stream stays
  window = 'w',        ///< Window
  output = 'o',        ///< bytes of its stdout, or its terminal
  error = 'e',         ///< bytes of its stderr
  exit = 'x',          ///< ProgramEnd: the last one
  failure = 'f',       ///< the last one, in words: it was not started, or is ended from outside
};

inline constexpr std::size_t kMaxFrame = 64U << 10;

struct Frame {
  FrameKind kind = FrameKind::input;
  std::string content{};
};

/// What is to be run.
struct ProgramRequest {
  std::vector<std::string> argv{};  ///< empty: a shell
  bool terminal = false;
  int columns = 80;
  int rows = 24;
  std::string term = "xterm-256color";  ///< TERM, of a terminal

  static void fields(auto& self, auto&& field) {
    field.optional("argv", self.argv);
    field.optional("terminal", self.terminal);
    field.optional("columns", self.columns);
    field.optional("rows", self.rows);
    field.optional("term", self.term);
  }
};

struct Window {
  int columns = 80;
  int rows = 24;

  static void fields(auto& self, auto&& field) {
    field("columns", self.columns);
    field("rows", self.rows);
  }
};

struct ProgramEnd {
  std::optional<int> code{};
  std::optional<int> signal{};

  static void fields(auto& self, auto&& field) {
    field.optional("code", self.code);
    field.optional("signal", self.signal);
  }
};

/// Content of more than kMaxFrame bytes becomes several frames.
[[nodiscard]] std::string frame_bytes(FrameKind kind, std::string_view content = {});

/// Takes frames out of bytes that come in pieces of any size. Pure.
class FrameReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole one. Throws Error of kind config for what is no frame.
  [[nodiscard]] std::optional<Frame> next();

 private:
  std::string bytes_;
  std::size_t from_ = 0;  // of bytes_: what was taken is dropped now and then
};

}  // namespace assay::entry
