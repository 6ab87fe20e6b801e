#pragma once

#include "core/time.h"

namespace assay::commands {

enum class Key { none, quit, up, down, page_up, page_down, home, refresh, help, resized, closed };

/// Reads keys from the terminal as they are pressed, without echo, while it exists; only if stdin
/// and stdout are a terminal in whose foreground this process is, otherwise there are none.
/// Restores the terminal when it ends, even by a signal, and while it is stopped (Ctrl-Z). One at a
/// time.
class KeyInput {
 public:
  KeyInput();
  KeyInput(const KeyInput&) = delete;
  KeyInput& operator=(const KeyInput&) = delete;
  ~KeyInput();

  /// The next meaningful key, `resized` as soon as the window is, or `none` if neither came within
  /// `limit`. `closed`: the terminal is gone.
  [[nodiscard]] Key next(Nanoseconds limit) const;
  [[nodiscard]] bool on() const noexcept { return on_; }

 private:
  bool on_ = false;
};

}  // namespace assay::commands
