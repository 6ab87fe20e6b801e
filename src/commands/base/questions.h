#pragma once

#include <functional>
#include <string>
#include <vector>

namespace assay::commands {

/// Asks questions one after the other: on a terminal a person, else the lines of standard input.
/// Where standard input has ended, or nobody is to be asked, the answer is the default. Who ends it
/// at a terminal (Ctrl-D) stops: Error of kind usage.
class Questions {
 public:
  explicit Questions(bool ask);

  /// Gives why an answer cannot be taken; empty: it can.
  using Refuse = std::function<std::string(const std::string& answer)>;

  /// `given` (by an option) counts without a question. Throws Error of kind usage when an option, a
  /// line of standard input or the third answer at a terminal cannot be taken.
  [[nodiscard]] std::string ask(const std::string& question, const std::string& given,
                                const std::string& fallback, const Refuse& refuse = {});

 private:
  [[nodiscard]] std::string read(const std::string& question, const std::string& fallback);

  bool ask_;
  bool terminal_;
};

/// Refuses what is not one of `names`, with the nearest.
[[nodiscard]] Questions::Refuse one_of(std::vector<std::string> names);
/// Refuses what is not a whole number from `least` to `most`.
[[nodiscard]] Questions::Refuse number_from(int least, int most);

}  // namespace assay::commands
