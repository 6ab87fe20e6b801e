#include "commands/base/terminal.h"

#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include "commands/base/variable.h"
#include "core/text.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = to_lower(variable(name));
    if (!value.empty())
      return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return true;
}

}  // namespace

Terminal terminal() {
  Terminal t;
  if (::isatty(STDOUT_FILENO) == 0) return t;
  t.interactive = variable("TERM") != "dumb";
  t.color = t.interactive && variable("NO_COLOR").empty();
  // A user who asks for Chinese can read it.
  t.unicode = utf8_locale() || lang::reader_language() != lang::Language::english;
  t.width = terminal_width(t.width);
  return t;
}

std::size_t terminal_width(std::size_t fallback) {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : fallback;
}

std::size_t terminal_height(std::size_t fallback) {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return known ? size.ws_row : fallback;
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void tell(std::string_view english) {
  say(lang::tr_lines(english));
}

void tell_error(std::string_view english) {
  // The program's name before a line is no part of what is said.
  constexpr std::string_view kProgram = "assay: ";
  const bool named = english.starts_with(kProgram);
  const std::string text = (named ? std::string(kProgram) : "") +
                           lang::tr_lines(english.substr(named ? kProgram.size() : 0));
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

report::ConsoleStyle console_style(const std::string& report_path) {
  const Terminal t = terminal();
  return {t.color, t.width, t.unicode, report_path};
}

}  // namespace assay::commands
