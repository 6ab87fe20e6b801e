#pragma once

#include <cstddef>
#include <string_view>

namespace assay::judge {

/// Splits a program's output into what a terminal shows and what moves its cursor, one byte
/// sequence at a time, in pieces of any size. Escape sequences (ECMA-48: CSI, OSC and the short
/// ones) may lie across pieces.
class TerminalText {
 public:
  enum class Kind {
    text,     ///< `text` is shown
    newline,  ///< what follows is shown elsewhere: CR, NUL, a movement of the cursor
    back,     ///< the cursor goes back by `count` characters
    nothing,  ///< a color, or another sequence without a place of its own
  };
  struct Item {
    Kind kind = Kind::nothing;
    std::string_view text{};
    std::size_t count = 0;
  };

  /// Takes the next item from the front of `bytes`, which is not empty.
  [[nodiscard]] Item take(std::string_view& bytes);
  /// Forgets a sequence that has begun; it does not go on behind the end of a line.
  void reset() noexcept;
  /// No sequence has begun.
  [[nodiscard]] bool idle() const noexcept { return state_ == State::text; }

  /// Whether all of it is text, so that take() would give it back as it is.
  [[nodiscard]] static bool plain(std::string_view bytes) noexcept;

 private:
  enum class State { text, escape, csi, string, string_escape, charset };
  [[nodiscard]] Item take_sequence(std::string_view& bytes);
  [[nodiscard]] Item end_csi(char final);

  State state_ = State::text;
  std::size_t number_ = 0;  // the first parameter of a CSI
  bool first_ = true;       // number_ is being read
  std::size_t length_ = 0;  // of the sequence so far
};

}  // namespace assay::judge
