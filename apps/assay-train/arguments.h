#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::train {

/// An option of an assay-train command.
struct ArgumentOption {
  std::string name;   ///< "--output"
  std::string value;  ///< its value's name, "PREFIX"; empty: takes none
  std::string help;
};

/// The text of `assay-train NAME --help`, and the command's arguments. Written without a library,
/// like the rest of assay-train, which must also build where there is PyTorch and little else.
struct CommandHelp {
  std::string name;
  std::string operands;  ///< "INPUT..."
  std::string summary;
  std::vector<ArgumentOption> options;
  std::vector<std::string> examples;

  [[nodiscard]] std::string text() const;
};

/// Prints the help if the arguments request it.
[[nodiscard]] bool wants_help(const CommandHelp& help, const std::vector<std::string>& arguments);

/// A command's parsed arguments. Throws Error of kind usage for an unknown option (naming the
/// nearest), a missing value, a repeated option, a wrong number.
class Arguments {
 public:
  Arguments(const CommandHelp& help, const std::vector<std::string>& arguments);

  [[nodiscard]] const std::vector<std::string>& operands() const noexcept { return operands_; }
  [[nodiscard]] bool has(const std::string& option) const { return values_.contains(option); }
  [[nodiscard]] std::string text(const std::string& option, const std::string& fallback = {}) const;
  [[nodiscard]] std::int64_t integer(const std::string& option, std::int64_t fallback,
                                     std::int64_t least, std::int64_t most) const;
  [[nodiscard]] double number(const std::string& option, double fallback, double least,
                              double most) const;
  /// One of the choices; the first if the option is not given.
  [[nodiscard]] std::string choice(const std::string& option,
                                   const std::vector<std::string>& choices) const;
  [[noreturn]] void wrong(const std::string& message) const;

 private:
  std::string command_;
  std::vector<std::string> operands_;
  std::map<std::string, std::string> values_;
};

}  // namespace assay::train
