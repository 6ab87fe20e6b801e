#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a text within a message is, judged by its form alone: a value, names, or a person's words.

namespace assay::lang {

[[nodiscard]] std::size_t letters(std::string_view text);
[[nodiscard]] bool has_letter(std::string_view text);
[[nodiscard]] bool has_letter_or_digit(std::string_view text);
/// Whether its round brackets match.
[[nodiscard]] bool is_balanced(std::string_view text);
/// Whether it contains complete clauses or sentences.
[[nodiscard]] bool has_several_clauses(std::string_view text);
/// "name, cases, hooks": three or more names are keys, files or options, whatever the words.
[[nodiscard]] bool is_list_of_names(std::string_view text);
/// "1, 2 and 5–7" in Chinese; nothing for any other text.
[[nodiscard]] std::optional<std::string> number_list(std::string_view text);
/// Whether it is a number with its unit, a single word, or names.
[[nodiscard]] bool is_plain_value(std::string_view text);
/// "with two workers": a person's own words rather than a name or a value.
[[nodiscard]] bool is_prose(std::string_view text);

/// The end, after its closing quote, of the text quoted from `at`; `at` itself for an apostrophe.
[[nodiscard]] std::size_t end_of_quoted(std::string_view text, std::size_t at);
/// The parts between `joint`s that are outside brackets and quotes.
[[nodiscard]] std::vector<std::string_view> split_outside_brackets(std::string_view text,
                                                                   std::string_view joint);

/// Appends the next piece of a translation without the blank that separates words of different
/// scripts, if both sides are Chinese.
void append_piece(std::string& out, std::string_view next);

}  // namespace assay::lang
