#include "commands/base/key_input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace assay::commands {

namespace {

// Data for signal handlers, written before these are installed.
termios g_before{};
termios g_keys{};
volatile std::sig_atomic_t g_resized = 0;

constexpr std::array kEnding{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

bool in_foreground() {
  return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void on_resize(int /*signal*/) {
  g_resized = 1;
}

void on_signal(int signal);

void install(int signal) {
  struct sigaction action {};
  action.sa_handler = &on_signal;
  // The second time, when on_signal() sends it, the signal has its default effect.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  ::sigaction(signal, &action, nullptr);
}

// Calls only what is allowed in a handler.
void on_signal(int signal) {
  const int error = errno;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
  ::raise(signal);
  // Reached only after Ctrl-Z, when the process continues.
  install(signal);
  if (in_foreground()) ::tcsetattr(STDIN_FILENO, TCSANOW, &g_keys);
  g_resized = 1;
  errno = error;
}

Key key_of(std::string_view bytes) {
  static constexpr std::array<std::pair<std::string_view, Key>, 16> kKeys{
      {{"q", Key::quit},
       {"Q", Key::quit},
       {"\x04", Key::quit},
       {"k", Key::up},
       {"\x1b[A", Key::up},
       {"\x1bOA", Key::up},
       {"j", Key::down},
       {"\x1b[B", Key::down},
       {"\x1bOB", Key::down},
       {"\x1b[5~", Key::page_up},
       {"\x1b[6~", Key::page_down},
       {"g", Key::home},
       {" ", Key::refresh},
       {"r", Key::refresh},
       {"h", Key::help},
       {"?", Key::help}}};
  const auto known = std::ranges::find(kKeys, bytes, &std::pair<std::string_view, Key>::first);
  return known == kKeys.end() ? Key::none : known->second;
}

// The size of the first key: one byte, or Escape, a mark and all up to a letter or "~".
std::size_t size_of_key(std::string_view bytes) {
  if (bytes[0] != '\x1b') return 1;
  const std::size_t end = bytes.find_first_not_of("0123456789;", 2);
  return std::min(bytes.size(), end == std::string_view::npos ? bytes.size() : end + 1);
}

}  // namespace

KeyInput::KeyInput() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || !in_foreground()) return;
  if (::tcgetattr(STDIN_FILENO, &g_before) != 0) return;
  g_keys = g_before;
  g_keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  g_keys.c_cc[VMIN] = 1;
  g_keys.c_cc[VTIME] = 0;
  for (const int signal : kEnding) install(signal);
  install(SIGTSTP);
  struct sigaction resize {};
  resize.sa_handler = &on_resize;  // without SA_RESTART: poll() returns
  ::sigaction(SIGWINCH, &resize, nullptr);
  on_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &g_keys) == 0;
}

KeyInput::~KeyInput() {
  if (!on_) return;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
  for (const int signal : kEnding) ::signal(signal, SIG_DFL);
  ::signal(SIGTSTP, SIG_DFL);
  ::signal(SIGWINCH, SIG_DFL);
}

Key KeyInput::next(Nanoseconds limit) const {
  const auto ms = [&](std::int64_t until) {
    return static_cast<int>(std::max<std::int64_t>(0, (until - mono_now_ns()) / 1'000'000));
  };
  const std::int64_t until = mono_now_ns() + limit.count();
  while (true) {
    if (std::exchange(g_resized, 0) != 0) return Key::resized;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&input, on_ ? 1U : 0U, ms(until));
    if (ready == 0) return Key::none;
    if (ready < 0) continue;  // interrupted by a signal
    std::array<char, 16> bytes{};
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n == 0 || (n < 0 && errno != EINTR)) return Key::closed;
    // Keys pressed together arrive together; an arrow's sequence begins with Escape.
    std::string_view rest(bytes.data(), n < 0 ? 0 : static_cast<std::size_t>(n));
    Key last = Key::none;
    while (!rest.empty()) {
      const std::size_t size = size_of_key(rest);
      const Key key = key_of(rest.substr(0, size));
      if (key == Key::quit) return key;
      if (key != Key::none) last = key;
      rest.remove_prefix(size);
    }
    if (last != Key::none) return last;
  }
}

}  // namespace assay::commands
