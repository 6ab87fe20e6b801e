#pragma once

#include "core/time.h"

namespace assay::commands {

enum class Key { none, quit, up, down, page_up, page_down, home, refresh, help, resized, closed };

/// Keys of the terminal as they are pressed, not echoed, as long as it exists; only where stdin and
/// stdout are a terminal that this process has the foreground of, else there are none. The
/// terminal is as it was before when it ends, also by a signal, and while it is stopped (Ctrl-Z).
/// One at a time.
class KeyInput {
 public:
  KeyInput();
  KeyInput(const KeyInput&) = delete;
  KeyInput& operator=(const KeyInput&) = delete;
  ~KeyInput();

  /// The next key that means something, `resized` as soon as the window is, or `none` when neither
  /// came within `limit`. `closed`: the terminal is gone.
  [[nodiscard]] Key next(Nanoseconds limit) const;
  [[nodiscard]] bool on() const noexcept { return on_; }

 private:
  bool on_ = false;
};

}  // namespace assay::commands
