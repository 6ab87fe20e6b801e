#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string to_lower(std::string_view text);
/// Returns views into `text`, which must outlive them.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

/// The candidate nearest to `word` by edit distance, if it is near enough for a typo.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);

/// " (did you mean 'x'?)" or "".
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string> candidates);

/// "1 step", "3 steps"; `many` is for plurals other than `one` plus "s".
template <std::integral Number>
[[nodiscard]] std::string counted(Number n, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(n) + ' ';
  if (n == 1 || many.empty()) text += one;
  if (n != 1) text += many.empty() ? "s" : many;
  return text;
}

/// One word of a POSIX shell command line, in single quotes unless it is harmless.
[[nodiscard]] std::string shell_quote(std::string_view word);
[[nodiscard]] std::string shell_join(std::span<const std::string> argv);

/// Replaces {name} (lower-case letters and '_') by values.at(name); an unknown name is an Error of
/// kind config at `where`. "{{name}}" stands for the text "{name}"; every other brace, as in shell,
/// awk, JSON or "${NAME}", is left alone.
[[nodiscard]] std::string expand(std::string_view text,
                                 const std::map<std::string, std::string>& values,
                                 const std::string& where);

/// Makes text safe to show: invalid UTF-8 and control characters (including ANSI escapes) become
/// U+FFFD or are removed; tab and newline stay.
[[nodiscard]] std::string printable(std::string_view text);

/// `text` cut to `columns` code points, ending in "…" when something was cut.
[[nodiscard]] std::string ellipsize(std::string_view text, std::size_t columns);

/// The number of code points: the displayed width of text without wide or combining characters.
[[nodiscard]] std::size_t code_points(std::string_view text);

}  // namespace assay
