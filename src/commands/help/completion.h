#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace assay::commands {

/// Something that a shell may offer.
struct Candidate {
  std::string word{};
  std::string what{};  ///< one line; may be empty

  auto operator<=>(const Candidate&) const = default;
};

struct Completion {
  std::vector<Candidate> candidates{};
  bool files = false;    ///< the shell offers names of files, too
  bool folders = false;  ///< … of folders
};

/// Values of a kind, which is an option's or argument's type name: "SUITE", "RUN", "JOB".
using ValuesOf = std::function<std::vector<Candidate>(const std::string& kind)>;

/// What may stand in place of the last of `words`, which come after the program's name; the last
/// one may be empty. Everything comes from the commands themselves.
[[nodiscard]] Completion complete(const CLI::App& app, const std::vector<std::string>& words,
                                  const ValuesOf& values);

}  // namespace assay::commands
