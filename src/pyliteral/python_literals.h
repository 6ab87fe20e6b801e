#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostic.h"
#include "pyliteral/python_value.h"

namespace assay::pyliteral {

/// A module-level name whose value is a literal.
struct Setting {
  std::string name;
  Value value;
  std::string file;  ///< of the effective assignment; not the module's for star imports
  Place place;
};

/// A module-level name whose value requires running Python.
struct NotLiteral {
  std::string name;
  std::string what;  ///< "a function call, GradScaler(…)"
  std::string file;
  Place place;
};

/// The content of a Python settings file, read without executing it.
struct Module {
  std::string file;
  std::vector<Setting> settings;          ///< in order of assignment
  std::vector<NotLiteral> not_literal;    ///< in order of assignment
  std::vector<Diagnostic> diagnostics;    ///< in file order
  std::vector<std::string> star_imports;  ///< names of modules read because of "from … import *"
  bool syntax_ok = true;                  ///< false: Python would refuse the file
  bool complete = true;                   ///< every statement was understood

  [[nodiscard]] const Setting* find(std::string_view name) const noexcept;
  /// Whether every name of the module was read: a plain literal module.
  [[nodiscard]] bool fully_read() const noexcept {
    return syntax_ok && complete && not_literal.empty();
  }
};

/// The largest file that is read.
inline constexpr std::size_t kMaxPythonFile = 1 << 20;

/// Reads Python source as a module of literals (docs/import.md describes the subset). Never
/// executes anything and never throws for bad source: values that are not literals are listed in
/// `not_literal` and in the diagnostics, by file:line:column, and the rest is still read. `from x
/// import *` and `from x import a` read x.py in `folder`, if it exists; with an empty `folder` no
/// other file is read.
[[nodiscard]] Module parse_python(std::string_view source, const std::string& file,
                                  const std::filesystem::path& folder = {});

/// The same for a file on disk; `shown` names it in diagnostics. Throws Error of kind environment
/// if it cannot be read, of kind config if it is larger than kMaxPythonFile.
[[nodiscard]] Module parse_python_file(const std::filesystem::path& path,
                                       const std::string& shown = {});

}  // namespace assay::pyliteral
