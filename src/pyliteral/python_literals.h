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
  std::string file;  ///< of the assignment that counts; differs from the module's for star imports
  Place place;
};

/// A module-level name whose value cannot be known without running Python.
struct NotLiteral {
  std::string name;
  std::string what;  ///< "a function call, GradScaler(…)"
  std::string file;
  Place place;
};

/// The content of a Python file of settings, read without executing it.
struct Module {
  std::string file;
  std::vector<Setting> settings;          ///< in the order of their assignment
  std::vector<NotLiteral> not_literal;    ///< in the order of their assignment
  std::vector<Diagnostic> diagnostics;    ///< in the order of the file
  std::vector<std::string> star_imports;  ///< names of the modules read by "from … import *"
  bool syntax_ok = true;                  ///< false: Python itself would refuse the file
  bool complete = true;                   ///< every statement was understood

  [[nodiscard]] const Setting* find(std::string_view name) const noexcept;
  /// Every name of the module was read: a plain literal module.
  [[nodiscard]] bool fully_read() const noexcept {
    return syntax_ok && complete && not_literal.empty();
  }
};

/// Largest file that is read.
inline constexpr std::size_t kMaxPythonFile = 1 << 20;

/// Reads Python source as a module of literals (docs/import.md describes the subset). Never
/// executes anything and never throws for bad source: what is not a literal is listed in
/// `not_literal` and in the diagnostics, by file:line:column, and the rest is still read.
/// `from x import *` and `from x import a` read x.py in `folder`, when it is there; with an empty
/// `folder` no other file is read.
[[nodiscard]] Module parse_python(std::string_view source, const std::string& file,
                                  const std::filesystem::path& folder = {});

/// The same for a file on disk; `shown` is its name in diagnostics. Throws Error of kind
/// environment when the file cannot be read, of kind config when it is larger than kMaxPythonFile.
[[nodiscard]] Module parse_python_file(const std::filesystem::path& path,
                                       const std::string& shown = {});

}  // namespace assay::pyliteral
