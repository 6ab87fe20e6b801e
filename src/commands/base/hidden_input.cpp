#include "commands/base/hidden_input.h"

#include <cstdio>
#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::commands {

namespace {

/// What is typed is not shown as long as this lives.
class Unseen {
 public:
  explicit Unseen(const std::string& what) {
    if (::tcgetattr(STDIN_FILENO, &shown_) != 0) return;
    typed_ = true;
    termios hidden = shown_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    fmt::print(stderr, "{}: ", what);
    std::fflush(stderr);
    (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
  ~Unseen() {
    if (!typed_) return;
    (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown_);
    (void)std::fputs("\n", stderr);
  }
  [[nodiscard]] bool typed() const noexcept { return typed_; }

 private:
  termios shown_{};
  bool typed_ = false;
};

Error nothing_given(const std::string& what) {
  return {ErrorKind::usage, "a " + to_lower(what) + " is expected on standard input"};
}

}  // namespace

std::string ask_hidden_line(const std::string& what) {
  std::string line;
  bool got = false;
  {
    const Unseen unseen(what);
    got = static_cast<bool>(std::getline(std::cin, line));
  }
  line = std::string(trim(line));
  if (!got || line.empty()) throw nothing_given(what);
  return line;
}

std::string ask_hidden_text(const std::string& what, std::size_t most) {
  std::string text;
  {
    const Unseen unseen(what);
    if (unseen.typed()) {
      (void)std::getline(std::cin, text);
    } else {
      text.resize(most + 2);
      std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
      text.resize(static_cast<std::size_t>(std::cin.gcount()));
      text = without_line_break(std::move(text));
    }
  }
  if (text.empty()) throw nothing_given(what);
  return text;
}

std::string without_line_break(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace assay::commands
