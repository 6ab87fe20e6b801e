#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The text is not a regular expression; what() says why.
class PatternError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A regular expression over bytes, in RE2's syntax (docs/suite.md): Perl's without the features
/// that need backtracking. Matching takes time linear in the text, for every pattern.
class Pattern {
 public:
  /// The groups of a match; [0] is the whole match, and a group that took no part is nothing. The
  /// views point into the searched text.
  using Groups = std::vector<std::optional<std::string_view>>;

  /// The empty pattern, which matches everywhere.
  Pattern();
  /// Throws PatternError, also when the pattern would take too much memory.
  explicit Pattern(const std::string& text);

  /// The number of groups in ( ).
  [[nodiscard]] std::size_t groups() const;
  /// The number of the group (?P<name> ), for Groups; nothing when there is no such group.
  [[nodiscard]] std::optional<std::size_t> group(const std::string& name) const;
  /// Whether `text` contains a match.
  [[nodiscard]] bool found_in(std::string_view text) const;
  /// The first match in `text` that begins at `from` or later. The text before `from` is context: ^
  /// is the beginning of `text`.
  [[nodiscard]] std::optional<Groups> search(std::string_view text, std::size_t from = 0) const;
  /// All non-overlapping matches, in order.
  [[nodiscard]] std::vector<Groups> search_all(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace assay
