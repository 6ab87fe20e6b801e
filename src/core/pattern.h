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

/// A regular expression in RE2's syntax (docs/suite.md), over bytes: Perl's, without what needs
/// backtracking. Matching takes time proportional to the text, for every pattern.
class Pattern {
 public:
  /// A group that took no part in the match is nothing; [0] is the whole match. The views are into
  /// the text that was searched.
  using Groups = std::vector<std::optional<std::string_view>>;

  /// The empty pattern. Matches everywhere.
  Pattern();
  /// Throws PatternError, also for a pattern that would take too much memory.
  explicit Pattern(const std::string& text);

  /// How many groups in ( ) it has.
  [[nodiscard]] std::size_t groups() const;
  /// The number of the group (?P<name> ), for Groups; nothing when there is none.
  [[nodiscard]] std::optional<std::size_t> group(const std::string& name) const;
  /// Whether `text` contains a match.
  [[nodiscard]] bool found_in(std::string_view text) const;
  /// The first match in `text` that begins at `from` or later. What is before `from` is context:
  /// ^ is the beginning of `text`.
  [[nodiscard]] std::optional<Groups> search(std::string_view text, std::size_t from = 0) const;
  /// All matches that do not overlap, in order.
  [[nodiscard]] std::vector<Groups> search_all(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace assay
