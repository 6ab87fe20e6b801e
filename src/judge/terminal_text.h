#pragma once

#include <cstddef>
#include <string_view>

namespace assay::judge {

/// Splits a program's output, in pieces of any size, into text that a terminal shows and sequences
/// that move its cursor. Escape sequences (ECMA-48: CSI, OSC and the short ones) may span pieces.
class TerminalText {
 public:
  enum class Kind {
    text,     ///< `text` is shown
    newline,  ///< the following text is shown elsewhere: CR, NUL, a cursor movement
    back,     ///< the cursor goes back by `count` characters
    nothing,  ///< a color, or another sequence that moves nothing
  };
  struct Item {
    Kind kind = Kind::nothing;
    std::string_view text{};
    std::size_t count = 0;
  };

  /// Takes the next item from the front of `bytes`, which must not be empty.
  [[nodiscard]] Item take(std::string_view& bytes);
  /// Forgets an unfinished sequence, which does not continue past the end of a line.
  void reset() noexcept;
  /// Whether no sequence has begun.
  [[nodiscard]] bool idle() const noexcept { return state_ == State::text; }

  /// Whether take() would return all of it as text.
  [[nodiscard]] static bool plain(std::string_view bytes) noexcept;

 private:
  enum class State { text, escape, csi, string, string_escape, charset };
  [[nodiscard]] Item take_sequence(std::string_view& bytes);
  [[nodiscard]] Item end_csi(char final);

  State state_ = State::text;
  std::size_t number_ = 0;  // the first parameter of a CSI
  bool first_ = true;       // still reading number_
  std::size_t length_ = 0;  // of the sequence so far
};

}  // namespace assay::judge
