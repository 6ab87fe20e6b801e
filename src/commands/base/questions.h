#pragma once

#include <functional>
#include <string>
#include <vector>

namespace assay::commands {

/// Asks questions one after another: of a person on a terminal, otherwise of the lines of standard
/// input. Once standard input has ended, or if nobody is to be asked, answers are the defaults.
/// Ctrl-D at a terminal stops with an Error of kind usage.
class Questions {
 public:
  explicit Questions(bool ask);

  /// Returns why an answer is not acceptable; empty if it is.
  using Refuse = std::function<std::string(const std::string& answer)>;

  /// `given` (by an option) replaces the question. Throws Error of kind usage if an option, a line
  /// of standard input or the third answer at a terminal is not acceptable.
  [[nodiscard]] std::string ask(const std::string& question, const std::string& given,
                                const std::string& fallback, const Refuse& refuse = {});

 private:
  [[nodiscard]] std::string read(const std::string& question, const std::string& fallback);

  bool ask_;
  bool terminal_;
};

/// Refuses anything but one of `names`, and suggests the nearest.
[[nodiscard]] Questions::Refuse one_of(std::vector<std::string> names);
/// Refuses anything but a whole number from `least` to `most`.
[[nodiscard]] Questions::Refuse number_from(int least, int most);

}  // namespace assay::commands
