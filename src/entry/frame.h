#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.h"

namespace assay::entry {

// The protocol between a person who enters a job and the program there. A frame is a letter, its
// length in four bytes (highest first), and the content.

enum class FrameKind : char {
  command = 'c',       ///< ProgramRequest; the first frame
  input = 'i',         ///< bytes for its stdin or terminal
  end_of_input = 'z',  ///< its stdin ends, the stream continues
  window = 'w',        ///< Window
  output = 'o',        ///< bytes from its stdout or terminal
  error = 'e',         ///< bytes from its stderr
  exit = 'x',          ///< ProgramEnd; the last frame
  failure = 'f',       ///< words; the last frame: it was not started, or was ended from outside
};

inline constexpr std::size_t kMaxFrame = 64U << 10;

struct Frame {
  FrameKind kind = FrameKind::input;
  std::string content{};
};

/// The program to run.
struct ProgramRequest {
  std::vector<std::string> argv{};  ///< empty: a shell
  bool terminal = false;
  int columns = 80;
  int rows = 24;
  std::string term = "xterm-256color";  ///< TERM for a terminal

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

/// Splits content of more than kMaxFrame bytes into several frames.
[[nodiscard]] std::string frame_bytes(FrameKind kind, std::string_view content = {});

/// Extracts frames from bytes in pieces of any size. Pure.
class FrameReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The next complete frame. Throws Error of kind config for an invalid one.
  [[nodiscard]] std::optional<Frame> next();

 private:
  std::string bytes_;
  std::size_t from_ = 0;  // offset in bytes_; consumed bytes are dropped occasionally
};

}  // namespace assay::entry
