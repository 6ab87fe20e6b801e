#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace assay::commands {

/// A word that a shell may offer.
struct Candidate {
  std::string word{};
  std::string what{};  ///< one line; may be empty

  auto operator<=>(const Candidate&) const = default;
};

struct Completion {
  std::vector<Candidate> candidates{};
  bool files = false;    ///< the shell also offers file names
  bool folders = false;  ///< … and folder names
};

/// The values of a kind, the type name of an option or argument: "SUITE", "RUN", "JOB".
using ValuesOf = std::function<std::vector<Candidate>(const std::string& kind)>;

/// The candidates for the last of `words`, which follow the program's name; the last may be empty.
/// Everything comes from the commands themselves.
[[nodiscard]] Completion complete(const CLI::App& app, const std::vector<std::string>& words,
                                  const ValuesOf& values);

}  // namespace assay::commands
