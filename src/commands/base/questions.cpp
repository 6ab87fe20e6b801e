#include "commands/base/questions.h"

#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "lang/language.h"

namespace assay::commands {

Questions::Questions(bool ask) : ask_(ask), terminal_(::isatty(STDIN_FILENO) == 1) {}

std::string Questions::read(const std::string& question, const std::string& fallback) {
  if (!ask_) return fallback;
  if (terminal_)
    tell_error(lang::tr(question) + (fallback.empty() ? "" : " [" + fallback + "]") + ": ");
  std::string line;
  if (!std::getline(std::cin, line)) {
    if (terminal_) {  // Ctrl-D: a person who stops here does not want a file either
      tell_error("\n");
      throw Error(ErrorKind::usage, "the answers ended here, and nothing was written", question);
    }
    ask_ = false;
    return fallback;
  }
  line = std::string(trim(line));
  return line.empty() ? fallback : line;
}

std::string Questions::ask(const std::string& question, const std::string& given,
                           const std::string& fallback, const Refuse& refuse) {
  constexpr int kTries = 3;
  for (int attempt = 1;; ++attempt) {
    const std::string answer = given.empty() ? read(question, fallback) : given;
    const std::string fault = refuse ? refuse(answer) : std::string();
    if (fault.empty()) return answer;
    if (!given.empty() || !ask_ || !terminal_ || attempt == kTries)
      throw Error(ErrorKind::usage, fault, question);
    tell_error(fault + "\n");
  }
}

Questions::Refuse one_of(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& answer) {
    for (const std::string& name : names)
      if (name == answer) return std::string();
    return fmt::format("'{}' is not one of: {}{}", printable(answer), join(names, ", "),
                       did_you_mean(answer, names));
  };
}

Questions::Refuse number_from(int least, int most) {
  return [=](const std::string& answer) {
    const auto number = parse_number<int>(answer);
    if (number && *number >= least && *number <= most) return std::string();
    return fmt::format("'{}' is not a whole number from {} to {}", printable(answer), least, most);
  };
}

}  // namespace assay::commands
